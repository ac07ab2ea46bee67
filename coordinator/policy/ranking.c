/* See ranking.h. */
#include "ranking.h"

#include <string.h>

#include "placement.h"

/* The members that one `nodes:` matches. */
typedef struct Selector {
        GHashTable *table; /* weak: has us */
        char *text;
        unsigned users;      /* entries */
        unsigned generation; /* of `matching` */
        GArray *matching;    /* guint: indices of members */
} Selector;

typedef struct RankAnswer {
        uint32_t rank;
        bool nobody; /* can run it */
} RankAnswer;

typedef struct RankEntry {
        JobSpec *spec; /* a reference, so that another definition is never at the same address */
        Selector *selector;
        unsigned generation; /* the answer is for these members, 0: there is none, */
        bool unfit;          /* and for us being so */
        RankAnswer answer;
        RankAnswer *acted; /* what ranking_act() said last; NULL: nothing yet */
} RankEntry;

struct Ranking {
        char *self;
        GPtrArray *members; /* a reference to the array, not to what is in it */
        bool busy;          /* so we said, as all can see */
        unsigned generation;
        GHashTable *selectors; /* `nodes:` as a text → Selector */
        GHashTable *entries;   /* job → RankEntry */
        unsigned computed;
};

static void selector_free(void *data) {
        Selector *selector = data;

        g_array_unref(selector->matching);
        g_free(selector->text);
        g_free(selector);
}

static void selector_drop(Selector *selector) {
        if (selector && --selector->users == 0)
                g_hash_table_remove(selector->table, selector->text);
}

static void rank_entry_free(void *data) {
        RankEntry *entry = data;

        selector_drop(entry->selector);
        job_spec_free(entry->spec);
        g_free(entry->acted);
        g_free(entry);
}

Ranking *ranking_new(const char *self) {
        Ranking *ranking = g_new0(Ranking, 1);

        ranking->self = g_strdup(self);
        ranking->members = g_ptr_array_new();
        ranking->generation = 1;
        ranking->selectors = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, selector_free);
        ranking->entries = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, rank_entry_free);
        return ranking;
}

Ranking *ranking_free(Ranking *ranking) {
        if (!ranking)
                return NULL;
        g_hash_table_unref(ranking->entries);
        g_hash_table_unref(ranking->selectors);
        g_ptr_array_unref(ranking->members);
        g_free(ranking->self);
        g_free(ranking);
        return NULL;
}

static bool is_self(const Ranking *ranking, const Member *member) {
        return strcmp(member->node, ranking->self) == 0;
}

void ranking_set_members(Ranking *ranking, GPtrArray *members) {
        g_ptr_array_ref(members);
        g_ptr_array_unref(ranking->members);
        ranking->members = members;
        ranking->busy = false;
        for (guint i = 0; i < members->len; i++) {
                const Member *member = members->pdata[i];
                if (is_self(ranking, member))
                        ranking->busy = member_is_shut(member);
        }
        ranking->generation++;
}

static char *selector_text(const JobSpec *spec) {
        GString *text = g_string_new(spec->place.node ? spec->place.node : "");

        g_string_append_c(text, '\n');
        for (guint i = 0; i < spec->place.nodes->len; i++) {
                const JobNodeMatch *match = spec->place.nodes->pdata[i];
                g_string_append_printf(text, "%s=%s\n", match->label ? match->label : "",
                                       match->pattern);
        }
        return g_string_free(text, FALSE);
}

static Selector *find_selector(Ranking *ranking, const JobSpec *spec) {
        g_autofree char *text = selector_text(spec);
        Selector *selector = g_hash_table_lookup(ranking->selectors, text);

        if (!selector) {
                selector = g_new0(Selector, 1);
                selector->table = ranking->selectors;
                selector->text = g_steal_pointer(&text);
                selector->matching = g_array_new(FALSE, FALSE, sizeof(guint));
                g_hash_table_insert(ranking->selectors, selector->text, selector);
        }
        selector->users++;
        return selector;
}

/* `spec` is any of the jobs that have this selector. */
static void selector_match(const Ranking *ranking, Selector *selector, const JobSpec *spec) {
        if (selector->generation == ranking->generation)
                return;
        g_array_set_size(selector->matching, 0);
        for (guint i = 0; i < ranking->members->len; i++) {
                const Member *member = ranking->members->pdata[i];
                if (job_spec_matches_node(spec, member->node, member->labels))
                        g_array_append_val(selector->matching, i);
        }
        selector->generation = ranking->generation;
}

static bool is_candidate(const Ranking *ranking, const Member *member, const JobSpec *spec,
                         bool unfit) {
        return !member->skewed && !(unfit && is_self(ranking, member)) &&
               !member_is_unfit(member, spec->name);
}

/* What decides who comes first: whoever is not busy, then the higher score, then the name. */
typedef struct Ranked {
        const char *node; /* borrowed */
        uint64_t score;
        bool busy;
} Ranked;

static Ranked ranked_of(const Member *member, uint64_t key) {
        return (Ranked){member->node, placement_score_of(key, member->node),
                        member_is_shut(member)};
}

static int ranked_compare(const Ranked *a, const Ranked *b) {
        if (a->busy != b->busy)
                return a->busy ? 1 : -1;
        if (a->score != b->score)
                return a->score > b->score ? -1 : 1;
        return strcmp(a->node, b->node);
}

static gint ranked_first(gconstpointer a, gconstpointer b) {
        return ranked_compare(a, b);
}

static RankAnswer rank_among(const Ranking *ranking, const Selector *selector, const JobSpec *spec,
                             bool unfit, const char *key) {
        const uint64_t hash = placement_key(key);
        const Ranked own = {ranking->self, placement_score_of(hash, ranking->self), ranking->busy};
        bool found = false, nobody = true;
        uint32_t rank = 0;

        for (guint i = 0; i < selector->matching->len; i++) {
                const Member *member =
                    ranking->members->pdata[g_array_index(selector->matching, guint, i)];
                const Ranked other = ranked_of(member, hash);
                bool self = is_self(ranking, member),
                     before = !self && ranked_compare(&other, &own) < 0;

                /* Once it is known that somebody can, those behind us do not matter. */
                if ((!nobody && !self && !before) || !is_candidate(ranking, member, spec, unfit))
                        continue;
                nobody = false;
                found |= self;
                rank += before;
        }
        return (RankAnswer){found ? rank : PLACEMENT_NONE, nobody};
}

uint32_t ranking_among_all(const Ranking *ranking, const char *key) {
        const uint64_t hash = placement_key(key), own = placement_score_of(hash, ranking->self);
        bool found = false;
        uint32_t rank = 0;

        for (guint i = 0; i < ranking->members->len; i++) {
                const Member *member = ranking->members->pdata[i];
                uint64_t score = placement_score_of(hash, member->node);
                int order = strcmp(member->node, ranking->self);

                found |= order == 0;
                rank += order != 0 && (score > own || (score == own && order < 0));
        }
        return found ? rank : 0;
}

static RankEntry *find_entry(Ranking *ranking, const JobSpec *spec) {
        RankEntry *entry = g_hash_table_lookup(ranking->entries, spec->name);

        if (!entry) {
                entry = g_new0(RankEntry, 1);
                g_hash_table_insert(ranking->entries, g_strdup(spec->name), entry);
        }
        if (entry->spec != spec) {
                selector_drop(entry->selector);
                job_spec_free(entry->spec);
                entry->spec = job_spec_ref(spec);
                entry->selector = find_selector(ranking, spec);
                entry->generation = 0;
        }
        return entry;
}

static RankEntry *ask(Ranking *ranking, const JobSpec *spec, bool unfit) {
        RankEntry *entry = find_entry(ranking, spec);

        if (entry->generation == ranking->generation && entry->unfit == unfit)
                return entry;
        selector_match(ranking, entry->selector, spec);
        entry->answer = rank_among(ranking, entry->selector, spec, unfit, spec->name);
        if (entry->answer.nobody) /* of an instance nobody else could say anything */
                entry->answer.rank = spec->place.node ? 0 : ranking_among_all(ranking, spec->name);
        entry->unfit = unfit;
        entry->generation = ranking->generation;
        ranking->computed++;
        return entry;
}

uint32_t ranking_rank(Ranking *ranking, const JobSpec *spec, bool unfit, bool *ret_nobody) {
        const RankEntry *entry = ask(ranking, spec, unfit);

        *ret_nobody = entry->answer.nobody;
        return entry->answer.rank;
}

uint32_t ranking_act(Ranking *ranking, const JobSpec *spec, bool unfit, bool *ret_nobody) {
        RankEntry *entry = ask(ranking, spec, unfit);

        if (!entry->acted)
                entry->acted = g_new0(RankAnswer, 1);
        *entry->acted = entry->answer;
        *ret_nobody = entry->answer.nobody;
        return entry->answer.rank;
}

bool ranking_has_changed(Ranking *ranking, const JobSpec *spec, bool unfit) {
        const RankEntry *entry = ask(ranking, spec, unfit);

        return !entry->acted || entry->acted->rank != entry->answer.rank ||
               entry->acted->nobody != entry->answer.nobody;
}

uint32_t ranking_of_key(Ranking *ranking, const JobSpec *spec, bool unfit, const char *key) {
        RankEntry *entry = find_entry(ranking, spec);

        selector_match(ranking, entry->selector, spec);
        return rank_among(ranking, entry->selector, spec, unfit, key).rank;
}

GPtrArray *ranking_candidates(Ranking *ranking, const JobSpec *spec, bool unfit) {
        GPtrArray *candidates = g_ptr_array_new_null_terminated(1, NULL, TRUE);
        g_autoptr(GArray) ranked = g_array_new(FALSE, FALSE, sizeof(Ranked));
        const uint64_t key = placement_key(spec->name);
        RankEntry *entry = find_entry(ranking, spec);

        selector_match(ranking, entry->selector, spec);
        for (guint i = 0; i < entry->selector->matching->len; i++) {
                const Member *member =
                    ranking->members->pdata[g_array_index(entry->selector->matching, guint, i)];
                const Ranked one = ranked_of(member, key);

                if (is_candidate(ranking, member, spec, unfit))
                        g_array_append_val(ranked, one);
        }
        g_array_sort(ranked, ranked_first);
        for (guint i = 0; i < ranked->len; i++)
                g_ptr_array_add(candidates, (char *)g_array_index(ranked, Ranked, i).node);
        return candidates;
}

void ranking_forget(Ranking *ranking, const char *job) {
        g_hash_table_remove(ranking->entries, job);
}

unsigned ranking_computed(const Ranking *ranking) {
        return ranking->computed;
}
