/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ledger_devices.c - which whole devices of a node a task gets: the rule of its node type. */
#include "ledger_int.h"

/* The `count` lowest set bits. */
static uint64_t lowest_bits(uint64_t bits, uint32_t count)
{
    uint64_t taken = 0;
    for (; count > 0; count--) {
        uint64_t bit = bits & (~bits + 1);
        taken |= bit;
        bits ^= bit;
    }
    return taken;
}

/* Those of part `i` of a node that has parts of `size` devices. */
static uint64_t in_part(uint64_t devices, uint32_t i, uint32_t size)
{
    return devices & ((((uint64_t)1 << size) - 1) << (i * size));
}

static uint32_t count_of(uint64_t devices)
{
    return (uint32_t)__builtin_popcountll(devices);
}

/* Lowest index inside the fullest NVLink domain that fits; when none fits, lowest index over all.
 */
static uint64_t pick_packed(const struct orr_node_type *type, uint64_t free, uint32_t count)
{
    uint32_t size = type->nvlink_domain;
    if (size == 0 || size >= type->gpus) {
        return lowest_bits(free, count);
    }
    uint64_t best = 0;
    uint32_t best_free = ORR_NONE;
    for (uint32_t i = 0; i * size < type->gpus; i++) {
        uint64_t domain = in_part(free, i, size);
        if (count_of(domain) >= count && count_of(domain) < best_free) {
            best = domain;
            best_free = count_of(domain);
        }
    }
    return lowest_bits(best_free == ORR_NONE ? free : best, count);
}

/* As the kubelet's topology manager does: from the lowest NUMA zone that has enough; when none has,
 * from the fewest: from the one with most free devices on. Devices beyond equal zones count to the
 * last. */
static ORR_APART uint64_t pick_aligned(const struct orr_node_type *type, uint64_t free,
                                       uint32_t count)
{
    uint32_t zones = type->numa_zones, size = zones < 2 ? 0 : type->gpus / zones;
    if (size == 0) {
        return lowest_bits(free, count);
    }
    uint64_t taken = 0;
    while (count > 0) {
        uint64_t best = 0;
        for (uint32_t z = 0; z < zones && count_of(best) < count; z++) {
            uint64_t zone =
                z + 1 < zones ? in_part(free, z, size) : free >> (z * size) << (z * size);
            best = count_of(zone) > count_of(best) ? zone : best;
        }
        uint32_t part = count_of(best) < count ? count_of(best) : count;
        ORR_ASSERT(part > 0); /* the caller saw that there is room */
        taken |= lowest_bits(best, part);
        free &= ~taken;
        count -= part;
    }
    return taken;
}

uint64_t orr_books__pick_devices(const struct orr_node_type *type, uint64_t free, uint32_t devices,
                                 uint32_t tasks)
{
    if (type->device_choice == ORR_DEVICES_LOWEST) {
        return lowest_bits(free, devices * tasks);
    }
    if (type->device_choice == ORR_DEVICES_PACKED) {
        return pick_packed(type, free, devices * tasks);
    }
    uint64_t taken = 0; /* pods are admitted one by one */
    for (uint32_t t = 0; t < tasks; t++) {
        taken |= pick_aligned(type, free & ~taken, devices);
    }
    return taken;
}
