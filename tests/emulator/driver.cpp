// A stand-in for libcuda.so: the driver calls that the backend makes, over kernels that run on the CPU (emulator.hpp).
// Memory ends at an unreadable page, so that a kernel that runs over the end of a buffer stops the program.
#include "emulator.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <vector>

namespace emulator {

Thread *current;
Index block_index, block_size, grid_size;
char *dynamic_shared;

constexpr size_t STACK = 128 << 10;
static std::vector<Thread> threads;
static void *scheduler_stack_pointer;
static Trampoline running;
static void **running_parameters;
struct Meeting {
    uint64_t count;
    unsigned arrived, members;
    uint64_t values[2][32];
};
static std::vector<Meeting> warps;
static Meeting block;

static std::map<std::string, Trampoline> &kernels() {
    static std::map<std::string, Trampoline> map;
    return map;
}
// Bytes of a kernel's arguments.
static std::map<Trampoline, size_t> &argument_bytes() {
    static std::map<Trampoline, size_t> map;
    return map;
}
Registration::Registration(const char *name, Trampoline call, size_t bytes) {
    kernels()[name] = call;
    argument_bytes()[call] = bytes;
}

extern "C" void emulator_switch(void **from, void *to);
asm(R"(
.text
.globl emulator_switch
emulator_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
)");

static void yield() { emulator_switch(&current->stack_pointer, scheduler_stack_pointer); }

static bool arrive(Meeting &m) {
    if (++m.arrived < m.members) return false;
    m.arrived = 0;
    m.count++;
    return true;
}
void wait_block() {
    const uint64_t mine = ++current->block_meetings;
    arrive(block);
    while (block.count < mine) yield();
}
const uint64_t *meet_warp(uint64_t value) {
    Meeting &m = warps[current->warp];
    const uint64_t mine = ++current->warp_meetings;
    m.values[mine & 1][current->lane] = value;
    arrive(m);
    while (m.count < mine) yield();
    return m.values[mine & 1];
}

static void enter() {
    running(running_parameters);
    current->done = true;
    yield();
}
static void prepare(Thread &t, unsigned index) {
    t.thread = {index, 0, 0};
    t.lane = index % 32;
    t.warp = index / 32;
    t.warp_meetings = t.block_meetings = 0;
    t.done = false;
    void **top = (void **)(((uintptr_t)t.stack + STACK) & ~(uintptr_t)63);
    *--top = nullptr;
    *--top = (void *)enter;
    for (int i = 0; i < 6; i++) *--top = nullptr;
    t.stack_pointer = top;
}
static void run_block(unsigned count) {
    for (unsigned i = 0; i < count; i++) prepare(threads[i], i);
    warps.assign((count + 31) / 32, Meeting());
    for (unsigned w = 0; w < warps.size(); w++) warps[w].members = count - 32 * w < 32 ? count - 32 * w : 32;
    block = Meeting();
    block.members = count;
    unsigned left = count, idle = 0;
    while (left) {
        uint64_t before = block.count;
        for (auto &w : warps) before += w.count;
        const unsigned left_before = left;
        for (unsigned i = 0; i < count; i++) {
            current = &threads[i];
            if (current->done) continue;
            emulator_switch(&scheduler_stack_pointer, current->stack_pointer);
            if (current->done) left--;
        }
        uint64_t after = block.count;
        for (auto &w : warps) after += w.count;
        idle = before == after && left == left_before ? idle + 1 : 0;
        if (left && idle > 1) {
            fprintf(stderr, "emulator: block %u hangs: %u threads wait for others that never come\n", block_index.x, left);
            abort();
        }
    }
}
static void launch(Trampoline kernel, unsigned grid, unsigned count, size_t shared, void **parameters) {
    while (threads.size() < count) {
        Thread t = {};
        t.stack = (char *)malloc(STACK);
        threads.push_back(t);
    }
    running = kernel;
    running_parameters = parameters;
    grid_size = {grid, 1, 1};
    block_size = {count, 1, 1};
    std::vector<char> memory(shared + 64);
    dynamic_shared = (char *)(((uintptr_t)memory.data() + 63) & ~(uintptr_t)63);
    for (unsigned b = 0; b < grid; b++) {
        memset(dynamic_shared, 0xa5, shared);
        block_index = {b, 0, 0};
        run_block(count);
    }
}

} // namespace emulator

typedef int Result;
typedef uint64_t Pointer;
enum { OK = 0, NOT_FOUND = 500 };

static std::map<Pointer, std::pair<void *, size_t>> allocations;
// One launch or allocation at a time: several devices have a thread each.
static std::mutex busy;
static Pointer allocate(size_t bytes) {
    const size_t page = 4096, body = (bytes + page - 1) / page * page;
    char *map = (char *)mmap(nullptr, body + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(map + body, page, PROT_NONE);
    const Pointer p = (Pointer)(map + (body - bytes)) & ~(Pointer)15;
    memset((void *)p, 0xa5, bytes);
    const std::lock_guard<std::mutex> guard(busy);
    allocations[p] = {map, body + page};
    return p;
}
static Result release(Pointer p) {
    const std::lock_guard<std::mutex> guard(busy);
    const auto found = allocations.find(p);
    if (found == allocations.end()) return 1;
    munmap(found->second.first, found->second.second);
    allocations.erase(found);
    return OK;
}
static double now_ms() {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// What a stream records instead of running it. One stream at a time.
typedef std::vector<std::function<void()>> Graph;
static Graph *recording;
// Runs `work`, or records it.
template <class F> static Result queue(F work) {
    if (recording) recording->push_back(work);
    else work();
    return OK;
}
// Copies between host and device, allocations and waits cannot be recorded.
static Result outside_recordings(Result result) { return recording ? 900 : result; }

extern "C" {
Result cuInit(unsigned) { return OK; }
Result cuDriverGetVersion(int *v) { return *v = 13000, OK; }
Result cuDeviceGetCount(int *n) { return *n = 2, OK; }
Result cuDeviceGet(int *d, int ordinal) { return *d = ordinal, OK; }
Result cuDeviceGetName(char *name, int length, int) { return snprintf(name, length, "emulated GPU"), OK; }
Result cuDeviceTotalMem_v2(size_t *n, int) { return *n = (size_t)1 << 34, OK; }
Result cuDeviceGetAttribute(int *value, int attribute, int) {
    // 16 multiprocessors, 75/76 compute capability, 81/97 shared memory of a multiprocessor and for a block.
    *value = attribute == 16 ? 2 : attribute == 75 ? 9 : attribute == 81 ? 228 * 1024 : attribute == 97 ? 227 * 1024 : 0;
    return OK;
}
Result cuDevicePrimaryCtxRetain(void **c, int) { return *c = (void *)1, OK; }
Result cuDevicePrimaryCtxRelease_v2(int) { return OK; }
Result cuCtxSetCurrent(void *) { return OK; }
Result cuCtxGetCurrent(void **c) { return *c = (void *)1, OK; }
Result cuCtxSynchronize() { return OK; }
Result cuMemGetInfo_v2(size_t *free, size_t *total) { return *free = *total = (size_t)1 << 34, OK; }
Result cuMemAlloc_v2(Pointer *p, size_t bytes) { return *p = allocate(bytes), outside_recordings(OK); }
Result cuMemFree_v2(Pointer p) { return release(p); }
Result cuMemHostAlloc(void **p, size_t bytes, unsigned) { return *p = malloc(bytes), OK; }
Result cuMemFreeHost(void *p) { return free(p), OK; }
Result cuMemcpyHtoDAsync_v2(Pointer to, const void *from, size_t n, void *) { return memcpy((void *)to, from, n), outside_recordings(OK); }
Result cuMemcpyDtoHAsync_v2(void *to, Pointer from, size_t n, void *) { return memcpy(to, (void *)from, n), outside_recordings(OK); }
Result cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, size_t n, void *) {
    return queue([=] { memcpy((void *)to, (void *)from, n); });
}
Result cuMemsetD8Async(Pointer to, unsigned char v, size_t n, void *) {
    return queue([=] { memset((void *)to, v, n); });
}
Result cuStreamCreate(void **s, unsigned) { return *s = (void *)2, OK; }
Result cuStreamCreateWithPriority(void **s, unsigned, int) { return *s = (void *)2, OK; }
Result cuCtxGetStreamPriorityRange(int *least, int *greatest) { return *least = *greatest = 0, OK; }
Result cuStreamDestroy_v2(void *) { return OK; }
Result cuStreamSynchronize(void *) { return outside_recordings(OK); }
Result cuStreamWaitEvent(void *, void *, unsigned) { return OK; }
Result cuEventCreate(void **e, unsigned) { return *e = new double(0), OK; }
Result cuEventRecord(void *e, void *) { return *(double *)e = now_ms(), OK; }
Result cuEventSynchronize(void *) { return OK; }
Result cuEventQuery(void *) { return OK; }
Result cuEventElapsedTime(float *ms, void *a, void *b) { return *ms = (float)(*(double *)b - *(double *)a), OK; }
Result cuEventElapsedTime_v2(float *ms, void *a, void *b) { return cuEventElapsedTime(ms, a, b); }
Result cuEventDestroy_v2(void *e) { return delete (double *)e, OK; }
Result cuModuleLoadData(void **m, const void *) { return *m = (void *)3, OK; }
Result cuModuleUnload(void *) { return OK; }
Result cuModuleGetFunction(void **f, void *, const char *name) {
    const auto found = emulator::kernels().find(name);
    if (found == emulator::kernels().end()) return NOT_FOUND;
    return *f = (void *)found->second, OK;
}
Result cuFuncSetAttribute(void *, int, int) { return OK; }
Result cuFuncGetAttribute(int *v, int, void *) { return *v = 0, OK; }
Result cuLaunchKernel(void *f, unsigned gx, unsigned, unsigned, unsigned bx, unsigned, unsigned, unsigned shared, void *, void **parameters,
                      void **) {
    const auto kernel = (emulator::Trampoline)f;
    const char *from = (const char *)parameters[0];
    std::vector<char> arguments(from, from + emulator::argument_bytes()[kernel]);
    return queue([=]() mutable {
        const std::lock_guard<std::mutex> guard(busy);
        void *all[] = {arguments.data()};
        emulator::launch(kernel, gx, bx, shared, all);
    });
}
Result cuStreamBeginCapture_v2(void *, int) { return recording = new Graph, OK; }
Result cuStreamEndCapture(void *, void **graph) {
    *graph = recording;
    recording = nullptr;
    return OK;
}
Result cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long) { return *executable = graph, OK; }
Result cuGraphLaunch(void *executable, void *) {
    for (auto &work : *(Graph *)executable) work();
    return OK;
}
Result cuGraphExecDestroy(void *) { return OK; }
Result cuGraphDestroy(void *graph) { return delete (Graph *)graph, OK; }
Result cuGetErrorName(int, const char **s) { return *s = "EMULATED", OK; }
Result cuGetErrorString(int, const char **s) { return *s = "emulated driver error", OK; }

// NVRTC, which has nothing to do: the kernels are already here.
Result nvrtcCreateProgram(void **p, const char *, const char *, int, const char **, const char **) { return *p = (void *)4, OK; }
Result nvrtcCompileProgram(void *, int, const char **) { return OK; }
Result nvrtcGetPTXSize(void *, size_t *n) { return *n = 1, OK; }
Result nvrtcGetPTX(void *, char *text) { return *text = 0, OK; }
Result nvrtcDestroyProgram(void **) { return OK; }
}
