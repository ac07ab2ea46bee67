/* base/chance.h for a simulation: the chance of the machine whose turn it is. */
#include "chance.h"

#include "process.h"

void chance_fill(void *buffer, size_t size) {
        WorldChance *chance = machine_chance(process_machine(process_turn()));
        unsigned char *bytes = buffer;

        for (uint64_t drawn = 0; size > 0; size--, bytes++, drawn >>= 8) {
                if (size % sizeof(drawn) == 0 || bytes == buffer)
                        drawn = world_draw(chance);
                *bytes = (unsigned char)drawn;
        }
}
