/* What servers send: to their clients (Answer), and to each other (Packet). */
#pragma once

#include "data-tree.h"

typedef enum AnswerType {
        ANSWER_CONNECTED, /* to CONNECT; session 0: that one is over */
        ANSWER_REPLY,
        ANSWER_EVENT,
} AnswerType;

typedef struct Answer {
        AnswerType type;
        uint64_t xid;
        ZkCode code;
        int64_t zxid; /* the newest that the server had done; 0 where it says none */
        char *path;   /* REPLY to a create; EVENT */
        char *data, **children;
        char *acl; /* REPLY to ACL: who alone may touch it; NULL: everybody */
        ZkStat stat;
        ZkOpResult *results;
        size_t n_results;
        ZkWatchEvent event;
        int64_t session; /* CONNECTED */
        usec_t timeout;
        char password[16];
} Answer;

Answer *answer_new(AnswerType type);
Answer *answer_free(Answer *answer);
DEFINE_CLEANUP(Answer, answer_free);

/* What a session's password is: as with a server, it follows from the id. */
void session_password(int64_t session, char ret_password[16]);

typedef enum PacketType {
        /* from who follows to the leader */
        PACKET_JOIN,
        PACKET_ACK,
        PACKET_SYNCED, /* all that is written down */
        PACKET_PONG,   /* with the sessions that were heard of */
        PACKET_REQUEST,
        PACKET_FLUSH, /* a client's sync */
        PACKET_REVALIDATE,
        /* from the leader */
        PACKET_SYNC, /* what the leader has done and proposed so far */
        PACKET_PROPOSAL,
        PACKET_UP_TO_DATE, /* serve */
        PACKET_COMMIT,
        PACKET_PING,
        PACKET_FLUSHED,
        PACKET_REVALIDATED,
} PacketType;

typedef struct Heard {
        int64_t session;
        usec_t timeout;
} Heard;

typedef struct Packet {
        PacketType type;
        Transaction *txn;     /* PROPOSAL */
        Request *request;     /* REQUEST */
        int64_t zxid;         /* ACK, COMMIT; JOIN: the newest that was written down */
        int64_t epoch;        /* SYNC: the leader's; JOIN: of the log */
        size_t position;      /* SYNC: in the history */
        unsigned lineage;     /* SYNC: of the history */
        DataTree *snapshot;   /* SYNC: all that is done, for who has another history; or NULL */
        GPtrArray *proposals; /* SYNC: of Transaction: what is proposed besides */
        int64_t session;      /* FLUSH, REVALIDATE and their answers */
        uint64_t xid;
        usec_t timeout;
        bool valid;    /* REVALIDATED */
        GArray *heard; /* PONG: of Heard */
} Packet;

Packet *packet_new(PacketType type);
Packet *packet_free(Packet *packet);
/* The same, of what a wire still carries. */
void packet_drop(void *packet);
