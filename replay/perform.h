/* SPDX-License-Identifier: Apache-2.0 */
/* A script in force on a device: where its buffers and frames are, and its three ways of moving
 * pages. settle  puts every page where the plan has it at the border (the device is drained, copies
 * waited for) guard   follows the plan op by op with everything that is out unmapped: a touch that
 * the pointer scan missed faults instead of reading another buffer's data replay  events and copies
 * only; every page is mapped to its frame for good */
#ifndef SPILL_PERFORM_H
#define SPILL_PERFORM_H

#include "replay/device.h"
#include "replay/sample.h"
#include "replay/script.h"
#include "replay/verify.h"

/* Times that each op of a new plan is to be guarded: two iterations, or as many parts of more. */
#define SPILL_GUARDED_TIMES 2

struct spill_perform {
    struct spill_script *script; /* NULL: none in force */
    char *slab;                  /* the first slab_bytes of the device's host memory */
    uint64_t slab_bytes;
    uint64_t keep_bytes; /* of it, that another plan wants: not given back meanwhile */
    CUevent *events;
    uint32_t *bound; /* plan frame -> frame of the device, SPILL_NO_FRAME: not bound */
    bool aliased;
    uint8_t *guarded;    /* of each op: times that it ran while all was unmapped that is out */
    uint32_t guard_left; /* such times still to come, of all ops together; 0: it may be replayed */
    struct spill_verify verify;
    struct spill_sample *sample; /* of the iteration that goes on; NULL: none */
};

/* Gives SCRIPT its addresses, slab and events; takes it over on success. VERIFY: check every move.
 * SPILL_ERR_NOMEM: the slab cannot be had, or not pinned (dev->host.pinnable says how much can). */
enum spill_status spill_perform_place(struct spill_perform *perform, struct spill_device *dev,
                                      struct spill_script *script, bool verify);
/* Drops the script. No page may be mapped through it (release first). */
void spill_perform_drop(struct spill_perform *perform, struct spill_device *dev);

/* To the state after OPS ops (0: the border's), but for the last one's deaths and copies in if they
 * are HELD; frames bound. On failure the pager's state is intact. */
CUresult spill_perform_settle(struct spill_perform *perform, struct spill_device *dev, uint32_t ops,
                              bool held);

/* Gives the frames that are bound but hold nobody's data back to the pager. */
void spill_perform_unbind(struct spill_perform *perform, struct spill_device *dev);

/* Where MOVE's pages wait. */
static inline char *spill_perform_host(const struct spill_perform *perform,
                                       const struct spill_device *dev,
                                       const struct spill_script_move *move)
{
    return perform->slab + move->host_slot * dev->page_bytes;
}

/* Before and after op K, guarded. */
CUresult spill_perform_guard_before(struct spill_perform *perform, struct spill_device *dev,
                                    uint32_t k);
CUresult spill_perform_guard_after(struct spill_perform *perform, struct spill_device *dev,
                                   uint32_t k);
/* The last of the frees of op K has come, if it has any. */
CUresult spill_perform_guard_freed(struct spill_perform *perform, struct spill_device *dev,
                                   uint32_t k);

/* After the guarded iterations, or after settling: maps every page. */
CUresult spill_perform_alias(struct spill_perform *perform, struct spill_device *dev);

/* Before and after op K, replayed: no malloc, no lock, no wait of the host. */
CUresult spill_perform_replay_before(const struct spill_perform *perform, uint32_t k);
CUresult spill_perform_replay_after(const struct spill_perform *perform, struct spill_device *dev,
                                    uint32_t k);
CUresult spill_perform_replay_freed(const struct spill_perform *perform, struct spill_device *dev,
                                    uint32_t k);

/* Back to the pager after DONE ops of an iteration (HELD as above): drains the device, leaves
 * mapped only what holds data, gives unowned frames back. */
CUresult spill_perform_release(struct spill_perform *perform, struct spill_device *dev,
                               uint32_t done, bool held);

#endif
