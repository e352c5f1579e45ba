// SPDX-License-Identifier: Apache-2.0
// Drives the engine's source and the netlist that Yosys made of it with the same random pins, and
// compares every output after every edge. Argument: the seed.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

#include "Vnetlist.h"
#include "Vsource.h"
#include "verilated.h"

namespace {

constexpr int kOperations = 50'000;

struct Pins {
    bool request = false;
    std::uint32_t op = 0, id = 0, mask = 0, version = 0, expect = 0;
    std::uint64_t key = 0;
    std::uint32_t entry[4] = {};
    bool take = true;
    bool access = false, write = false, taken = true;
    std::uint32_t address = 0, data = 0;
};

template <class Top>
void drive(Top& top, const Pins& pins) {
    top.clk_i = 0;
    top.req_valid_i = pins.request;
    top.req_op_i = pins.op;
    top.req_id_i = pins.id;
    top.req_key_i = pins.key;
    for (int i = 0; i < 4; ++i) top.req_entry_i[i] = pins.entry[i];
    top.req_mask_i = pins.mask;
    top.req_expect_version_i = pins.version;
    top.req_expect_valid_i = pins.expect;
    top.rsp_ready_i = pins.take;
    top.reg_valid_i = pins.access;
    top.reg_write_i = pins.write;
    top.reg_address_i = pins.address;
    top.reg_data_i = pins.data;
    top.reg_ready_i = pins.taken;
    top.eval();
}

template <class Top>
void edge(Top& top) {
    top.clk_i = 1;
    top.eval();
}

bool equal(const Vsource& a, const Vnetlist& b) {
    bool same = a.req_ready_o == b.req_ready_o && a.rsp_valid_o == b.rsp_valid_o &&
                a.reg_ready_o == b.reg_ready_o && a.reg_valid_o == b.reg_valid_o &&
                a.idle_o == b.idle_o && a.stash_count_o == b.stash_count_o;
    if (a.rsp_valid_o) {
        same = same && a.rsp_id_o == b.rsp_id_o && a.rsp_status_o == b.rsp_status_o &&
               a.rsp_corrected_o == b.rsp_corrected_o &&
               a.rsp_uncorrectable_o == b.rsp_uncorrectable_o;
        for (int i = 0; i < 4; ++i) same = same && a.rsp_entry_o[i] == b.rsp_entry_o[i];
    }
    if (a.reg_valid_o) {
        same = same && a.reg_data_o == b.reg_data_o && a.reg_error_o == b.reg_error_o;
    }
    return same;
}

/// The pins of the next cycle; what waits stays as it is.
void draw(Pins& pins, std::mt19937_64& random, long cycles, bool waits, bool access_waits) {
    pins.take = random() % 8 != 0;
    pins.taken = random() % 4 != 0;
    if (!waits) {
        pins.request = cycles > 20 && random() % 8 != 0;
        pins.op = random() % 6;
        pins.id = random() & 0xFF;
        pins.key = (random() % 24) * 0x9E3779B97F4A7C15ULL;
        for (std::uint32_t& word : pins.entry) word = static_cast<std::uint32_t>(random());
        pins.entry[3] |= 1U << 16U;  // never free
        pins.entry[3] &= ~0xFE00U;   // few versions
        pins.mask = random() & 0x1FF;
        pins.version = random() % 2;
        pins.expect = random() % 4 == 0;
    }
    if (!access_waits) {
        pins.access = cycles < 10 || random() % 16 == 0;
        pins.address = cycles < 10 ? 0 : random() % 32;
        // The engine stays enabled; every so often a bit flips on its way to the SRAM.
        pins.write = cycles < 10 || pins.address == 6 || pins.address >= 24;
        pins.data = cycles < 10 ? 1 : pins.address == 6 ? random() % 20 : 0;
        if (pins.address >= 24) pins.data = 1U << random() % 32 & (random() % 4 == 0 ? ~0U : 0);
    }
}

}  // namespace

int main(int argc, char* argv[]) {
    VerilatedContext context;
    Vsource source{&context};
    Vnetlist netlist{&context};
    std::mt19937_64 random(argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 1);
    Pins pins;
    source.rst_ni = netlist.rst_ni = 0;
    long cycles = 0;
    long answers = 0;
    int accepted = 0;
    while (accepted < kOperations) {
        if (cycles == 2) source.rst_ni = netlist.rst_ni = 1;
        drive(source, pins);
        drive(netlist, pins);
        if (cycles > 2 && !equal(source, netlist)) {
            std::printf("the netlist differs from its source in cycle %ld, after %d operations\n",
                        cycles, accepted);
            return 1;
        }
        const bool waits = pins.request && !source.req_ready_o;
        accepted += pins.request && source.req_ready_o ? 1 : 0;
        answers += source.rsp_valid_o && pins.take ? 1 : 0;
        const bool access_waits = pins.access && !source.reg_ready_o;
        edge(source);
        edge(netlist);
        ++cycles;
        draw(pins, random, cycles, waits, access_waits);
    }
    source.final();
    netlist.final();
    std::printf("matched %ld cycles, %d operations, %ld answers\n", cycles, accepted, answers);
    return answers > kOperations / 2 ? 0 : 1;
}
