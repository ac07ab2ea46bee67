/* Where the daemon stands, as two tables of phases × events. Pure: the coordinator tells what
 * happened and does what follows.
 *
 * The session's life. Nothing is claimed before READY: our member node stands, and the runs of the
 * process before us are found. Whatever that process left running and nobody follows is ended first
 * (HELD_BACK).
 *
 *              connected, nothing left over            found again
 *      ABSENT ──────────────────────────────▶ PREPARING ─────────▶ READY
 *        ▲ └───────────▶ HELD_BACK ───────────────┘                  │
 *        │  leftovers             they are gone                      │
 *        └──────────────────────── lost ─────────────────────────────┘ (from every phase)
 *
 * The process's life. A restart leaves runs and session to the next process; a real stop lets the
 * runs end, for a time, ends those that do not, settles them and closes the session, and the two
 * never mix: who is asked to stop while leaving has left already.
 *
 *      WORKING ── restart ──▶ LEAVING
 *         └────── stop ─────▶ DRAINING ── that was long enough, or nothing runs ──▶ STOPPING
 *                                         written, or it takes too long ──▶ CLOSING ◀──┘
 */
#pragma once

typedef enum SessionPhase {
        SESSION_PHASE_ABSENT,
        SESSION_PHASE_HELD_BACK, /* connected, but something of a process before us still runs */
        SESSION_PHASE_PREPARING, /* the tree, our member node and our own open runs are seen to */
        SESSION_PHASE_READY,     /* ticks may be claimed */
        SESSION_PHASE_COUNT,
} SessionPhase;

typedef enum SessionPhaseEvent {
        SESSION_PHASE_CONNECTED,
        SESSION_PHASE_CONNECTED_BESIDE_LEFTOVERS,
        SESSION_PHASE_LEFTOVERS_GONE,
        SESSION_PHASE_RESUMED,   /* after a short break of the connection */
        SESSION_PHASE_RECOVERED, /* registered, and our own runs are found again */
        SESSION_PHASE_LOST,
        SESSION_PHASE_EVENT_COUNT,
} SessionPhaseEvent;

typedef enum SessionPhaseAction {
        SESSION_PHASE_NOTHING,
        SESSION_PHASE_WAIT,       /* say that we wait */
        SESSION_PHASE_PREPARE,    /* begin with the tree */
        SESSION_PHASE_ASK_AGAIN,  /* answers were lost, ask for what is missing */
        SESSION_PHASE_BEGIN,      /* jobs, requests, orphans */
        SESSION_PHASE_CONTINUE,   /* the same, after a break */
        SESSION_PHASE_FORGET,     /* whatever ZooKeeper told us */
        SESSION_PHASE_IMPOSSIBLE, /* cannot happen: the program is wrong, and aborts */
} SessionPhaseAction;

typedef struct SessionPhaseStep {
        SessionPhase phase;
        SessionPhaseAction action;
} SessionPhaseStep;

SessionPhaseStep session_phase_step(SessionPhase phase, SessionPhaseEvent event);

typedef enum ProcessPhase {
        PROCESS_PHASE_WORKING,
        PROCESS_PHASE_LEAVING,  /* a restart: what runs or starts continues without us */
        PROCESS_PHASE_DRAINING, /* no new claims; what runs may end by itself */
        PROCESS_PHASE_STOPPING, /* what runs is ended, and settled */
        PROCESS_PHASE_CLOSING,  /* the session is being closed or left */
        PROCESS_PHASE_COUNT,
} ProcessPhase;

typedef enum ProcessPhaseEvent {
        PROCESS_PHASE_RESTART,
        PROCESS_PHASE_STOP,
        PROCESS_PHASE_END_RUNS, /* they had their time, or there are none */
        PROCESS_PHASE_CLOSE,    /* all is settled, or we wait no longer */
        PROCESS_PHASE_EVENT_COUNT,
} ProcessPhaseEvent;

/* Return: the phase that follows; the same one where the event changes nothing. */
ProcessPhase process_phase_next(ProcessPhase phase, ProcessPhaseEvent event);
