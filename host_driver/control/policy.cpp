// SPDX-License-Identifier: Apache-2.0
#include "host_driver/control/policy.h"

#include <stdexcept>

#include "host_driver/control/policies/arc.h"
#include "host_driver/control/policies/ema.h"
#include "host_driver/control/policies/fifo.h"
#include "host_driver/control/policies/gdsf.h"
#include "host_driver/control/policies/lfu.h"
#include "host_driver/control/policies/lru.h"
#include "host_driver/control/policies/lru2.h"
#include "host_driver/control/policies/min.h"
#include "host_driver/control/policies/priority.h"
#include "host_driver/control/policies/queue_lru.h"
#include "host_driver/control/policies/s3_fifo.h"
#include "host_driver/control/policies/sieve.h"
#include "host_driver/control/policies/slru.h"
#include "host_driver/control/policies/w_tinylfu.h"
#include "model/common/errors.h"

namespace kvplane::control {

bool can_keep(Replacement replacement, Lifetime lifetime) {
    if (lifetime == Lifetime::kReset) return true;
    const bool lists = replacement == Replacement::kArc || replacement == Replacement::kS3Fifo;
    return keeps_state(replacement) && !(lists && lifetime == Lifetime::kSketch);
}

void check(const PolicySpec& spec) {
    if (!keeps_state(spec.replacement) && spec.state.lifetime != Lifetime::kReset) {
        throw std::invalid_argument("this policy keeps no state: leave state out");
    }
    check(spec.state);
    if (!can_keep(spec.replacement, spec.state.lifetime)) {
        throw std::invalid_argument("arc and s3-fifo keep ghosts, which a sketch cannot hold");
    }
    if (spec.replacement == Replacement::kEma &&
        (spec.alpha_ppm == 0 || spec.alpha_ppm >= 1'000'000)) {
        throw std::invalid_argument("alpha must lie between 0.0001 % and 99.9999 %");
    }
}

bool keeps_state(Replacement replacement) {
    switch (replacement) {
        case Replacement::kS3Fifo:
        case Replacement::kArc:
        case Replacement::kLru2:
        case Replacement::kLfu:
        case Replacement::kEma:
        case Replacement::kWTinyLfu:
        case Replacement::kGdsf:
            return true;
        case Replacement::kLru:
        case Replacement::kFifo:
        case Replacement::kSieve:
        case Replacement::kSlru:
        case Replacement::kPriority:
        case Replacement::kQueueLru:
        case Replacement::kMin:
            return false;
    }
    return false;
}

std::unique_ptr<Policy> make_policy(const PolicySpec& spec, std::uint64_t capacity,
                                    std::size_t blocks) {
    check(spec);
    switch (spec.replacement) {
        case Replacement::kLru:
            return std::make_unique<Lru>(blocks);
        case Replacement::kFifo:
            return std::make_unique<Fifo>(blocks);
        case Replacement::kSieve:
            return std::make_unique<Sieve>(blocks);
        case Replacement::kS3Fifo:
            return std::make_unique<S3Fifo>(capacity, blocks, spec.state);
        case Replacement::kArc:
            return std::make_unique<Arc>(capacity, blocks, spec.state);
        case Replacement::kLru2:
            return std::make_unique<Lru2>(blocks, spec.state, spec.clock);
        case Replacement::kSlru:
            return std::make_unique<Slru>(capacity, blocks);
        case Replacement::kLfu:
            return std::make_unique<Lfu>(blocks, spec.state);
        case Replacement::kEma:
            return std::make_unique<Ema>(blocks, spec.state, spec.clock, spec.alpha_ppm);
        case Replacement::kWTinyLfu:
            return std::make_unique<WTinyLfu>(capacity, blocks, spec.state);
        case Replacement::kGdsf:
            return std::make_unique<Gdsf>(blocks, spec.state, spec.cost);
        case Replacement::kPriority:
            return std::make_unique<Priority>(blocks);
        case Replacement::kQueueLru:
            return std::make_unique<QueueLru>(blocks);
        case Replacement::kMin:
            return std::make_unique<Min>(blocks);
    }
    throw InvariantError("make_policy: no such policy");
}

}  // namespace kvplane::control
