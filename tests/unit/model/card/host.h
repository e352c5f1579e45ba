// SPDX-License-Identifier: Apache-2.0
/// A host as the card meets it: memory with rings, GPU windows, and an initiator. It rings a
/// doorbell for each intent at once and reads each completion as it arrives.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <functional>
#include <memory>
#include <string>
#include <systemc>
#include <tlm>
#include <utility>
#include <vector>

#include "model/card/type3_card.h"
#include "model/engine/invariant_checker.h"
#include "model/index/policy_store.h"
#include "model/index/tlm_index.h"
#include "model/memory/sparse_store.h"

namespace kvplane::card {

/// What the host heard of an intent.
struct Done {
    std::uint32_t id = 0;
    engine::Status status{};
    std::uint64_t argument = 0;
    Time at;  ///< its completion reached host memory
    std::uint32_t queue = 0;
};

class Host final : public sc_core::sc_module,
                   public engine::DmaTargetIf,
                   public engine::MoveObserver,
                   public engine::BulkClient {
public:
    static constexpr std::uint16_t kWindow = 1;
    static constexpr std::uint32_t kSlots = 4096;
    static constexpr std::uint64_t kDevice = std::uint64_t{1} << 40;  ///< HPA of device memory
    static constexpr std::uint64_t kDeviceSize = std::uint64_t{1} << 40;

    Host(sc_core::sc_module_name name, Bytes block, std::uint32_t ring_entries);

    tlm_utils::simple_initiator_socket<Host> mmio{"mmio"};
    tlm_utils::simple_initiator_socket<Host> mem{"mem"};
    sc_core::sc_port<engine::BulkMemIf> bulk{"bulk"};

    /// Sets the queues and windows up, as after each reset of the card. Rings start empty.
    void set_up(management::QueuePlace place = management::QueuePlace::kHostMemory,
                std::uint16_t tenant = management::kAnyTenant);
    void end_of_elaboration() override;

    /// A whole intent for one block.
    [[nodiscard]] engine::Intent intent(engine::Opcode opcode, const block::BlockKey& key,
                                        std::uint32_t slot = 0) const;
    /// The same for a run: block i of `keys` in slot `first_slot` + i, of `granules` each (0: as
    /// the bench's blocks). The last block's entry may name more granules than it should.
    [[nodiscard]] engine::Intent run(engine::Opcode opcode,
                                     const std::vector<block::BlockKey>& keys,
                                     std::uint32_t first_slot = 0,
                                     std::uint32_t longer_last_block = 0,
                                     std::uint32_t granules = 0);
    /// Adds a window of as many slots over the same device memory, at `offset` of it; flags from
    /// `flags` on, unless that is 0.
    void add_window(std::uint32_t queue, std::uint16_t window, Bytes stride,
                    std::uint64_t offset = 0, std::uint64_t flags = 0);
    /// Posts `intent` with its own id and a sound CRC, unless `sign` is false. Returns its id.
    std::uint32_t submit(engine::Intent intent, std::uint32_t queue = 0, bool sign = true);
    /// The same without the doorbell, or the doorbell without the descriptor.
    std::uint32_t write_descriptor(engine::Intent intent, std::uint32_t queue = 0,
                                   bool sign = true);
    void ring(std::uint32_t queue = 0);
    /// Moves the tail past a place that was not written.
    void skip_descriptor(std::uint32_t queue);
    /// The write of a descriptor that did nothing arrives there after all. In host memory.
    void write_late(std::uint32_t queue);
    /// A gather list of `changes`, and the intent for it.
    [[nodiscard]] engine::Intent policy_run(const std::vector<index::PolicyChange>& changes);
    /// Bytes of the device at `offset` of the window.
    [[nodiscard]] std::vector<std::uint8_t> device(std::uint64_t offset, Bytes size) const;
    /// What the device refuses: bytes at this offset of the window.
    std::function<bool(std::uint64_t offset)> refuses = [](std::uint64_t) { return false; };
    /// When each piece of payload arrived, and at which offset.
    std::vector<std::pair<Time, std::uint64_t>> arrivals;

    /// Reads a register.
    std::uint64_t read_register(std::uint64_t offset);
    /// Writes a register; false where the card refuses.
    bool write_register(std::uint64_t offset, std::uint64_t value);

    /// One access over CXL.mem, now + `delay`; `delay` is moved on to its answer.
    tlm::tlm_response_status access(tlm::tlm_command command, std::uint64_t address,
                                    std::span<std::uint8_t> data, sc_core::sc_time& delay);

    /// A slot of the window.
    void fill_slot(std::uint32_t slot, std::span<const std::uint8_t> data);
    [[nodiscard]] std::vector<std::uint8_t> slot(std::uint32_t slot) const;

    std::vector<Done> done;
    std::vector<engine::BlockMove> promoted;
    std::vector<engine::BlockMove> demoted;
    std::vector<Time> bulk_ends;
    std::uint64_t bulk_failures = 0;

    void read_host(Hpa address, std::span<std::uint8_t> data) override;
    void write_host(Hpa address, std::span<const std::uint8_t> data) override;
    bool write_device(Hpa address, Bytes size, std::span<const std::uint8_t> data) override;
    bool read_device(Hpa address, Bytes size, std::span<std::uint8_t> data) override;
    void block_promoted(const engine::BlockMove& move) override { promoted.push_back(move); }
    void block_demoted(const engine::BlockMove& move) override { demoted.push_back(move); }
    void bulk_done(engine::BulkDirection, std::uint32_t, Time, Time end) override {
        bulk_ends.push_back(end);
    }
    void bulk_failed(engine::BulkDirection, std::uint32_t) override { ++bulk_failures; }

private:
    static constexpr std::uint32_t kQueues = 2;
    struct Ring {
        std::uint32_t tail = 0;
        std::uint32_t head = 0;
        bool phase = true;
        bool odd_pass = false;
    };

    [[nodiscard]] std::uint64_t submissions(std::uint32_t queue) const;
    bool access_register(tlm::tlm_command command, std::uint64_t offset, std::uint64_t& value);
    void read_completions(std::uint32_t queue);

    Bytes m_block;
    std::uint32_t m_entries;
    std::array<Ring, kQueues> m_rings;
    management::QueuePlace m_place = management::QueuePlace::kHostMemory;
    std::uint64_t m_ring_memory = 0;
    std::uint32_t m_next_id = 1;
    std::uint8_t m_generation = 0;  ///< boot generation of the card
    std::uint64_t m_next_list;
    memory::SparseStore m_memory;
    memory::SparseStore m_window;
};

/// The same intent through another window.
[[nodiscard]] engine::Intent through(std::uint16_t window, engine::Intent intent);

/// What configures the card: its socket alone.
class Firmware final : public sc_core::sc_module {
public:
    explicit Firmware(sc_core::sc_module_name name) : sc_module(name) {}
    tlm_utils::simple_initiator_socket<Firmware> socket{"socket"};
};

/// A card, its index and a host, wired. Several may live in one kernel.
struct Bench {
    explicit Bench(const CardConfig& config, Bytes block = Bytes::from_kib(64),
                   const std::string& name = "bench", std::uint32_t ring_entries = 1024);

    /// Programs one decoder over the whole card: host address = device address.
    void map();
    /// Runs until nothing is pending.
    static void drain();
    /// The whole life of one intent; its completion is the last one heard.
    Done finish(const engine::Intent& intent, std::uint32_t queue = 0);
    /// Demotes `keys` as one run and expects that it works.
    void load(const std::vector<block::BlockKey>& keys);

private:
    CardConfig m_config;

public:
    engine::InvariantChecker books;  ///< watches all that the card does
    index::TlmIndex index;
    Type3Card card;
    Host host;
    Firmware management;
};

/// A key that stands for `n`.
[[nodiscard]] block::BlockKey key_of(std::uint64_t n);
[[nodiscard]] std::vector<block::BlockKey> keys_of(std::uint64_t first, std::uint64_t count);
/// `size` bytes that follow from `seed`.
[[nodiscard]] std::vector<std::uint8_t> pattern(std::uint64_t seed, Bytes size);

/// The default card with `width` lanes: x16 with four channels, x8 with two.
[[nodiscard]] CardConfig baseline(std::uint32_t width);

}  // namespace kvplane::card
