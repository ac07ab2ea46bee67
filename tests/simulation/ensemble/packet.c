/* See packet.h. */
#include "packet.h"

#include <string.h>

Answer *answer_new(AnswerType type) {
        Answer *answer = g_new0(Answer, 1);

        answer->type = type;
        return answer;
}

Answer *answer_free(Answer *answer) {
        if (!answer)
                return NULL;
        g_free(answer->path);
        g_free(answer->data);
        g_strfreev(answer->children);
        g_free(answer->acl);
        g_free(answer->results);
        g_free(answer);
        return NULL;
}

void session_password(int64_t session, char ret_password[16]) {
        uint64_t value = (uint64_t)session ^ UINT64_C(0xb3415c00);

        for (size_t i = 0; i < 16; i++) {
                value = value * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                ret_password[i] = (char)(value >> 56);
        }
}

Packet *packet_new(PacketType type) {
        Packet *packet = g_new0(Packet, 1);

        packet->type = type;
        return packet;
}

Packet *packet_free(Packet *packet) {
        if (!packet)
                return NULL;
        (void)txn_unref(packet->txn);
        (void)request_unref(packet->request);
        data_tree_free(packet->snapshot);
        if (packet->proposals)
                g_ptr_array_unref(packet->proposals);
        if (packet->heard)
                g_array_unref(packet->heard);
        g_free(packet);
        return NULL;
}

void packet_drop(void *packet) {
        packet_free(packet);
}
