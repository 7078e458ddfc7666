"""The microbenchmarks: each kernel's launch, and which number of machine.txt it gives."""
from dataclasses import dataclass

ALL = 132  # multiprocessors
MIB = 1 << 20


@dataclass(frozen=True)
class Row:
    what: str
    kernel: str
    gives: str
    threads: int = 32
    ctas: int = 1
    shared: int = 0
    repetitions: int = 200
    # Bytes of the data, where they are in the model (memory or l2), and the step of a chain of addresses in them.
    size: int = MIB
    place: str = "l2"
    chain: int = 0
    # Further 32-bit arguments of the kernel.
    arguments: tuple = ()

    @property
    def cluster(self):
        return 2 if self.kernel in ("cluster_barriers", "remote_reads") else 1


def copies(what, kernel, gives, ctas, size, place, repetitions, part):
    return Row(what, kernel, gives, 256, ctas, 65536, repetitions, size, place, arguments=(part,))


ROWS = [
    Row("mma, one warp a sub-core", "mma_rate", "mma_interval", 128),
    Row("mma, two warps", "mma_rate", "mma_interval, twice", 256),
    Row("mma, four warps", "mma_rate", "mma_interval, four times", 512),
    Row("mma, four warps, all multiprocessors", "mma_rate", "the same under load, and the clock", 512, ALL,
        repetitions=2000),
    Row("mma on its own sum", "mma_chain", "ptxas's stalls: 18"),
    Row("8 mma and 2 ldmatrix.x4, 4 warps: an mma", "mma_and_ldmatrix", "mma_interval, if they overlap", 128, shared=12288),
    Row("8 mma and 2 ldmatrix.x4, 8 warps: an mma", "mma_and_ldmatrix", "twice", 256, shared=12288),
    Row("ld.shared on its own result", "lds_chain", "lds_latency + lsu_issue_latency", shared=4096),
    Row("ldmatrix.x4 on its own result", "ldmatrix_chain", "ldsm_latency + lsu_issue_latency + 3", shared=4096),
    Row("ldmatrix.x4, 1 warp", "ldmatrix_rate", "lsu_interval, lsu_queue", shared=12288),
    Row("ldmatrix.x4, 4 warps", "ldmatrix_rate", "16: a wavefront a clock", 128, shared=12288),
    Row("ld.shared.u32, 1 warp", "lds_rate", "lsu_interval", shared=4096),
    Row("ld.shared.u32, 4 warps", "lds_rate", "4: a wavefront a clock", 128, shared=4096),
    Row("ld.shared.u32, 16 warps", "lds_rate", "16", 512, shared=4096),
    Row("st.shared.u32, 4 warps", "sts_rate", "4", 128, shared=4096),
    Row("load, L1 hit", "chain_l1", "l1_latency + lsu_issue_latency", repetitions=400, size=65536, chain=4096),
    Row("load, L2 hit", "chain_l2", "l2_latency + lsu_issue_latency", repetitions=1000, size=8 * MIB, chain=4224),
    Row("4 rows of 128 bytes a warp, 1 CTA, L2", "rows", "l2_latency", 128, size=8 * MIB, arguments=(2048, 8 * MIB)),
    Row("4 rows of 128 bytes a warp, 132 CTAs", "rows", "memory_latency", 128, ALL, size=ALL * 8 * MIB, place="memory",
        arguments=(2048, 8 * MIB)),
    copies("cp.async of 16 bytes, 1 ahead, 132 CTAs", "copies_1", "memory_latency, memory_terabytes_per_second", ALL,
           ALL * 8 * MIB, "memory", 500, 8 * MIB),
    copies("cp.async, 4 ahead", "copies_4", "memory_terabytes_per_second", ALL, ALL * 8 * MIB, "memory", 500, 8 * MIB),
    copies("cp.async, 12 ahead", "copies_12", "memory_terabytes_per_second", ALL, ALL * 8 * MIB, "memory", 500, 8 * MIB),
    copies("cp.async, 12 ahead, L2, 1 CTA", "copies_12", "sm_bytes_per_clock", 1, MIB, "l2", 500, 1 << 17),
    copies("cp.async, 12 ahead, L2, 132 CTAs", "copies_12", "l2_bytes_per_clock", ALL, 32 * MIB, "l2", 500, 1 << 17),
    copies("cp.async, 12 ahead, 97 MB again and again", "copies_12", "l2_bytes", ALL, 128 * MIB, "memory", 2000, 737280),
    Row("16 bytes stored, 1 CTA", "stores", "sm_store_bytes_per_clock", 256, repetitions=300, arguments=(1 << 17,)),
    Row("16 bytes stored, 132 CTAs", "stores", "l2_bytes_per_clock", 256, ALL, repetitions=300, size=32 * MIB,
        arguments=(1 << 17,)),
    Row("4 bytes stored, 1 line a warp", "scattered_stores", "l1_line_waves", 128, arguments=(4,)),
    Row("4 bytes stored, 8 lines a warp", "scattered_stores", "l1_line_waves, 8 times", 128, arguments=(32,)),
    Row("4 bytes stored, 32 lines a warp", "scattered_stores", "l1_line_waves, 32 times", 128, arguments=(128,)),
    Row("CTA barrier, 4 warps", "barriers", "barrier_latency", 128),
    Row("CTA barrier, 8 warps", "barriers", "barrier_latency", 256),
    Row("cluster barrier", "cluster_barriers", "cluster_barrier_latency", 128, 2),
    Row("cluster barrier, 132 CTAs", "cluster_barriers", "cluster_barrier_latency", 256, ALL),
    Row("8 bytes a lane from the other CTA, 1 warp", "remote_reads", "remote_latency / 8", 32, 2, 8192, 100),
    Row("8 bytes a lane from the other CTA, 8 warps", "remote_reads", "2048 / remote_bytes_per_clock", 256, 2, 8192, 100),
]
for _name, _chain, _rate in (("ex2", "functions_latency", "functions_interval"), ("fma", "ptxas's stalls: 4", "fma_interval"),
                             ("lop", "ptxas's stalls: 4", "alu_interval"), ("imad", "ptxas's stalls: 4", "fma_interval"),
                             ("pack", "ptxas's stalls: 4", "alu_interval"),
                             ("shuffle", "shuffle_latency + lsu_issue_latency", "lsu_interval")):
    ROWS += [Row(f"{_name} on its own result", f"{_name}_chain", _chain, repetitions=100),
             Row(f"{_name}, one warp a sub-core", f"{_name}_rate", _rate, 128, repetitions=100),
             Row(f"{_name}, two warps", f"{_name}_rate", _rate + ", twice", 256, repetitions=100)]
