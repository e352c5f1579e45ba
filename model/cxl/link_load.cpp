// SPDX-License-Identifier: Apache-2.0
#include "model/cxl/link_load.h"

#include <algorithm>
#include <array>

#include "model/common/errors.h"

namespace kvplane::cxl {
namespace {

/// TLPs that wait at the wire or travel on it, so that it never runs dry.
constexpr std::uint32_t kStagedTlps = 32;
constexpr Bytes kCompletionEntry{16};

/// Ids say whose message it is.
enum Owner : std::uint32_t { kLoop, kBurst, kProbe };

class Load final : public LinkClient {
public:
    Load(const LinkConfig& config, const LinkLoad& load)
        : m_config(config),
          m_load(load),
          m_link(config, *this, load.faults),
          m_random(load.faults.seed, "link_load") {}

    LinkMeasure run();

    void arrived(Direction direction, const FlitMessage& message, Time at) override;
    void arrived(Direction direction, const Tlp& tlp, Time at) override;

private:
    void offer(Time now);
    void offer_bursts();
    void top_up(Time now);
    void push_promotion(Time now);
    void answer(const FlitMessage& message, Time at);
    [[nodiscard]] FlitMessage next_of_mix();
    [[nodiscard]] bool measured(Time at) const { return at >= m_load.warm_up && at < m_end; }
    [[nodiscard]] Time next_own() const { return std::min(m_next_burst, m_next_probe); }
    [[nodiscard]] Rate rate(std::uint64_t bytes) const {
        return {static_cast<std::uint64_t>(static_cast<Uint128>(bytes) * 1'000'000'000'000U /
                                           static_cast<std::uint64_t>(m_load.duration.ps))};
    }

    LinkConfig m_config;
    LinkLoad m_load;
    LineLink m_link;
    RandomStream m_random;
    Time m_end;
    std::uint32_t m_in_flight = 0;
    MemMix m_sent;
    Time m_next_burst = Time::never();
    Time m_next_probe = Time::never();
    std::uint32_t m_probes = 0;
    Time m_waits;
    std::uint32_t m_staged = 0;
    std::uint64_t m_promotion_left = 0;
    std::uint32_t m_reads_out = 0;
    std::uint64_t m_read_lines = 0;
    std::uint64_t m_write_lines = 0;
    std::uint64_t m_promoted = 0;
    std::uint64_t m_demoted = 0;
    LinkMeasure m_result;
};

FlitMessage Load::next_of_mix() {
    // The kind that is furthest behind its share.
    const MemMix& mix = m_load.mix;
    const std::array<std::uint64_t, 3> want{mix.reads, mix.writes, mix.partial_writes};
    const std::array<std::uint64_t*, 3> have{&m_sent.reads, &m_sent.writes, &m_sent.partial_writes};
    std::size_t best = 3;
    for (std::size_t i = 0; i < 3; ++i) {
        if (want[i] == 0) continue;
        if (best == 3 || (*have[i] + 1) * want[best] < (*have[best] + 1) * want[i]) best = i;
    }
    ++*have[best];
    return {kLoop, best == 0 ? Channel::kReq : Channel::kRwD, best == 2};
}

void Load::offer(Time now) {
    const bool any = m_load.mix.reads + m_load.mix.writes + m_load.mix.partial_writes != 0;
    while (any && m_in_flight < m_load.outstanding) {
        ++m_in_flight;
        ++m_result.requests;
        m_link.push(Direction::kToCard, next_of_mix(), now);
    }
}

void Load::offer_bursts() {
    if (m_next_burst <= m_next_probe) {
        const Time now = m_next_burst;
        for (std::uint32_t i = 0; i < m_load.burst; ++i) {
            m_link.push(Direction::kToCard, FlitMessage{kBurst, Channel::kReq}, now);
        }
        m_result.requests += m_load.burst;
        m_next_burst = now + transfer_time(kLine * m_load.burst, m_load.burst_reads);
    } else {
        m_link.push(Direction::kToCard, FlitMessage{kProbe, Channel::kReq}, m_next_probe);
        ++m_result.requests;
        m_next_probe = Time::never();
    }
}

void Load::push_promotion(Time now) {
    Tlp tlp{TlpKind::kWrite, m_config.mps, kLoop};
    if (m_load.promotion.count != 0) {
        if (m_promotion_left == 0) {
            m_promotion_left = m_load.promotion.count;
            tlp.payload = kCompletionEntry;
            tlp.id = kBurst;  // not payload
        } else {
            tlp.payload = std::min(tlp.payload, Bytes{m_promotion_left});
            m_promotion_left -= tlp.payload.count;
        }
    }
    ++m_staged;
    m_link.push(Direction::kToHost, tlp, now);
}

void Load::top_up(Time now) {
    while (m_load.promotions == LoadKind::kSaturating && m_staged < kStagedTlps) {
        push_promotion(now);
    }
    while (m_load.demotions == LoadKind::kSaturating && m_reads_out < m_load.demotion_reads) {
        ++m_reads_out;
        m_link.push(Direction::kToHost, Tlp{TlpKind::kRead, {}, kLoop}, now);
    }
}

void Load::answer(const FlitMessage& message, Time at) {
    const bool read = message.channel == Channel::kReq;
    if (message.id == kProbe) {
        const Time wait = std::max(at, m_link.wire(Direction::kToHost).next_start(at)) - at;
        m_result.worst_probe_wait = std::max(m_result.worst_probe_wait, wait);
        m_waits += wait;
        ++m_probes;
    }
    m_link.push(Direction::kToHost, FlitMessage{message.id, read ? Channel::kDrs : Channel::kNdr},
                at);
}

void Load::arrived(Direction direction, const FlitMessage& message, Time at) {
    m_link.consumed(direction, message.channel, at);
    if (direction == Direction::kToCard) {
        answer(message, at);
        return;
    }
    ++m_result.answers;
    if (measured(at)) ++(message.channel == Channel::kDrs ? m_read_lines : m_write_lines);
    if (message.id == kLoop) {
        --m_in_flight;
        if (at < m_end) offer(at);
    } else if (message.id == kProbe && m_probes < m_load.probes) {
        m_next_probe = at + Time{static_cast<std::int64_t>(m_random.uniform(1'000, 100'000))};
    }
}

void Load::arrived(Direction direction, const Tlp& tlp, Time at) {
    m_link.consumed(direction, tlp, at);
    if (direction == Direction::kToCard) {
        if (measured(at)) m_demoted += tlp.payload.count;
        if (tlp.id == kBurst) --m_reads_out;  // the last completion of a request
    } else if (tlp.kind == TlpKind::kWrite) {
        --m_staged;
        if (measured(at) && tlp.id == kLoop) m_promoted += tlp.payload.count;
    } else {
        const auto parts =
            split_completion({m_config.mps, m_config.mrrs, m_config.rcb}, 0, m_config.mrrs);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const std::uint32_t id = i + 1 == parts.size() ? kBurst : kLoop;
            m_link.push(Direction::kToCard, Tlp{TlpKind::kCompletion, parts[i], id}, at);
        }
    }
    if (at < m_end) top_up(at);
}

LinkMeasure Load::run() {
    m_end = m_load.warm_up + m_load.duration;
    if (m_load.burst_reads.bytes_per_second != 0) m_next_burst = {};
    if (m_load.probes != 0) m_next_probe = {};
    offer({});
    top_up({});
    // On to the end, and then until all that was asked is answered.
    for (;;) {
        const Time own = next_own() < m_end ? next_own() : Time::never();
        const Time next = std::min(own, m_link.next_event());
        if (next == Time::never()) break;
        if (next > m_end + Time::from_ms(10)) throw InvariantError("link load: no end");
        m_link.advance(next);
        if (own <= next) offer_bursts();
    }
    m_result.reads = rate(m_read_lines * kLine.count);
    m_result.writes = rate(m_write_lines * kLine.count);
    m_result.promoted = rate(m_promoted);
    m_result.demoted = rate(m_demoted);
    if (m_probes != 0) m_result.mean_probe_wait = {m_waits.ps / m_probes};
    m_result.to_card = m_link.wire(Direction::kToCard).counters();
    m_result.to_host = m_link.wire(Direction::kToHost).counters();
    return m_result;
}

}  // namespace

LinkMeasure measure_link(const LinkConfig& config, const LinkLoad& load) {
    return Load(config, load).run();
}

}  // namespace kvplane::cxl
