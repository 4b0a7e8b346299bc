/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes of a machine: declared ones, GPUs from a program in the place of nvidia-smi, shares of
 * CPUs, slot maps and ports; and the descriptions of runs made from them.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/run_spec.h"
#include "backend/gpu_type.h"
#include "backend/machine.h"
#include "wire/node.h"
#include "backend/port.h"
#include "backend/slot_map.h"

static void test_declared_nodes (void **state)
{
    (void)state;
    static const struct {
        const char *text, *name, *type;
        int slots; /* 0: refused */
    } cases[] = {
        {"a:2", "a", "", 2},
        {"left-1:1024:v100", "left-1", "v100", 1024},
        {"a:2:cpu", "a", "cpu", 2},
        {"a", "", "", 0},
        {"a:", "", "", 0},
        {":2", "", "", 0},
        {"a:0", "", "", 0},
        {"a:1025", "", "", 0},
        {"a:-1", "", "", 0},
        {"a:two", "", "", 0},
        {"a:2:", "", "", 0},
        {"a b:2", "", "", 0},
        {"a:2:x y", "", "", 0},
        {"a\n:2", "", "", 0},
        {"a:99999999999999999999", "", "", 0},
        {"0123456789012345678901234567890123456789012345678901234567890123:1", "", "", 0},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct node node = {.slots = -1};
        struct pollux_error err = {.text = ""};
        int code = wire_node_parse (cases[i].text, &node, &err);
        if (cases[i].slots == 0) {
            assert_int_equal (code, -EINVAL);
            assert_int_equal (node.slots, -1);
            assert_non_null (strstr (err.text, "expected NAME:SLOTS"));
            continue;
        }
        assert_int_equal (code, 0);
        assert_string_equal (node.name, cases[i].name);
        assert_string_equal (node.type, cases[i].type);
        assert_int_equal (node.slots, cases[i].slots);
        assert_true (node.available);
    }
}

/* Write a program that prints this text and exits with this code. */
struct stand_in {
    char directory[64], path[96];
};

static struct stand_in stand_in (const char *script)
{
    struct stand_in ret = {.directory = ""};
    snprintf (ret.directory, sizeof (ret.directory), "%s/pollux-smi-XXXXXX", temporary_folder ());
    assert_non_null (mkdtemp (ret.directory));
    snprintf (ret.path, sizeof (ret.path), "%s/nvidia-smi", ret.directory);
    FILE *file = fopen (ret.path, "w");
    assert_non_null (file);
    fprintf (file, "#!/bin/sh\n%s\n", script);
    fclose (file);
    assert_int_equal (chmod (ret.path, 0700), 0);
    return ret;
}

static void stand_in_remove (const struct stand_in *program)
{
    unlink (program->path);
    rmdir (program->directory);
}

#define FOUR                                                                                       \
    "[ \"$*\" = '--query-gpu=index,name,uuid --format=csv,noheader' ] || exit 9\n"                 \
    "for i in 0 1 3 4; do echo \"$i, Tesla V100-SXM2-16GB, GPU-8f2$i\"; done"

static void test_gpus (void **state)
{
    (void)state;
    struct stand_in program = stand_in (FOUR);
    struct machine machine;
    char host[256] = "";
    assert_int_equal (machine_discover (program.path, NULL, 0, &machine, NULL), 0);
    assert_int_equal (machine.gpu_count, 4);
    assert_int_equal (machine.gpus[2].index, 3);
    assert_int_equal (machine.node_count, 1);
    gethostname (host, sizeof (host) - 1);
    host[strcspn (host, ".")] = '\0';
    assert_string_equal (machine.nodes[0].node.name, host);
    assert_string_equal (machine.nodes[0].node.type, "v100");
    assert_int_equal (machine.nodes[0].node.slots, 4);
    assert_true (machine.nodes[0].gpu);
    machine_clear (&machine);

    struct node nodes[3] = {{.name = "a", .slots = 3},
                            {.name = "c", .slots = 8, .type = "cpu"},
                            {.name = "b", .slots = 1}};
    assert_int_equal (machine_discover (program.path, nodes, 3, &machine, NULL), 0);
    assert_true (machine.nodes[0].gpu && !machine.nodes[1].gpu && machine.nodes[2].gpu);
    assert_int_equal (machine.nodes[2].first, 3);
    assert_int_equal (machine.nodes[1].first, 0);
    assert_int_equal (machine.cpu_slots, 8);
    machine_clear (&machine);

    struct pollux_error err;
    nodes[2].slots = 2;
    assert_int_equal (machine_discover (program.path, nodes, 3, &machine, &err), -EINVAL);
    assert_non_null (strstr (err.text, "b:2:cpu"));
    strcpy (nodes[2].name, "a");
    nodes[2].slots = 1;
    assert_int_equal (machine_discover (program.path, nodes, 3, &machine, &err), -EINVAL);
    assert_non_null (strstr (err.text, "twice"));
    stand_in_remove (&program);
}

static void test_gpu_types (void **state)
{
    (void)state;
    static const struct {
        const char *name, *type;
    } cases[] = {{"NVIDIA A100-SXM4-40GB", "a100"},
                 {"NVIDIA A100 80GB PCIe", "a100"},
                 {"Tesla T4", "t4"},
                 {"Tesla V100-SXM2-32GB", "v100"},
                 {"NVIDIA GeForce RTX 2080 Ti", "rtx2080ti"},
                 {"Quadro RTX 6000", "rtx6000"},
                 {"NVIDIA RTX 6000 Ada Generation", "rtx6000ada"},
                 {"NVIDIA H100 80GB HBM3", "h100"},
                 {"NVIDIA H100 NVL", "h100"},
                 {"NVIDIA L40S", "l40s"},
                 {"NVIDIA", "gpu"},
                 {"", "gpu"},
                 {"\xff\"a\x1b[1m\\", "a1m"}};
    char type[NAME_SIZE], longest[4 * NAME_SIZE];
    for (size_t i = 0; i < COUNT (cases); i++) {
        gpu_type (cases[i].name, type);
        assert_string_equal (type, cases[i].type);
    }
    gpu_type_of_gres ("nvidia_a100-sxm4-80gb", type);
    assert_string_equal (type, "a100");
    gpu_type_of_gres ("tesla_v100-sxm2-16gb", type);
    assert_string_equal (type, "v100");
    gpu_type_of_gres ("a100-80gb", type);
    assert_string_equal (type, "a100-80gb");
    memset (longest, 'x', sizeof (longest));
    for (size_t length = 50; length < sizeof (longest); length++) {
        longest[length] = '\0';
        gpu_type (longest, type);
        assert_in_range (strlen (type), 50, NAME_SIZE - 1);
        longest[length] = length % 7 ? 'x' : ' ';
    }
}

/* Without declared nodes, one node per type. */
static void test_mixed_gpus (void **state)
{
    (void)state;
    struct stand_in program = stand_in (
        "echo '0, Tesla T4, a'; echo '1, NVIDIA A100-SXM4-40GB, b'; echo '2, Tesla T4, c'");
    struct machine machine;
    struct pollux_error err;
    char host[256] = "", name[300];
    gethostname (host, sizeof (host) - 1);
    host[strcspn (host, ".")] = '\0';
    assert_int_equal (machine_discover (program.path, NULL, 0, &machine, NULL), 0);
    assert_int_equal (machine.node_count, 2);
    snprintf (name, sizeof (name), "%s-t4", host);
    assert_string_equal (machine.nodes[0].node.name, name);
    assert_string_equal (machine.nodes[0].node.type, "t4");
    assert_int_equal (machine.nodes[0].node.slots, 2);
    assert_string_equal (machine.nodes[1].node.type, "a100");
    assert_int_equal (machine.nodes[1].node.slots, 1);
    assert_int_equal (machine.gpus[machine.nodes[0].first + 1].index, 2);
    assert_int_equal (machine.gpus[machine.nodes[1].first].index, 1);
    machine_clear (&machine);
    struct node nodes[2] = {{.name = "a", .slots = 1}, {.name = "b", .slots = 2}};
    assert_int_equal (machine_discover (program.path, nodes, 2, &machine, &err), -EINVAL);
    assert_string_equal (err.text,
                         "node b: GPU 1 is of type a100 and GPU 2 of type t4, and a node has one "
                         "type; declare other nodes, or name a type: b:2:TYPE");
    strcpy (nodes[1].type, "any");
    assert_int_equal (machine_discover (program.path, nodes, 2, &machine, NULL), 0);
    assert_string_equal (machine.nodes[0].node.type, "t4");
    assert_string_equal (machine.nodes[1].node.type, "any");
    machine_clear (&machine);
    stand_in_remove (&program);
}

/* If the program fails, prints nonsense or is missing, there are no GPUs. */
static void test_no_gpus (void **state)
{
    (void)state;
    static const char *const scripts[] = {
        "exit 1", "echo '0, A100, GPU-1'; exit 9",       "echo NVIDIA-SMI has failed",
        "true",   "yes '0, A100, GPU' | head -c 100000", "kill -9 $$",
    };
    for (size_t i = 0; i <= COUNT (scripts); i++) {
        struct stand_in program = stand_in (i < COUNT (scripts) ? scripts[i] : "");
        struct machine machine;
        const char *path = i < COUNT (scripts) ? program.path : "/no/such/nvidia-smi";
        assert_int_equal (machine_discover (path, NULL, 0, &machine, NULL), 0);
        assert_int_equal (machine.gpu_count, 0);
        assert_false (machine.nodes[0].gpu);
        assert_string_equal (machine.nodes[0].node.type, "cpu");
        assert_int_equal (machine.nodes[0].node.slots, machine.cpu_count);
        machine_clear (&machine);
        stand_in_remove (&program);
    }
}

/* CPUs are divided evenly, none is used twice; with more slots than CPUs, none is bound. */
static void test_cpus (void **state)
{
    (void)state;
    int cpus[] = {2, 3, 5, 7, 8, 10, 11};
    struct machine_node nodes[] = {{.node = {.name = "a", .slots = 1}},
                                   {.node = {.name = "b", .slots = 2}, .first = 1}};
    struct machine machine = {
        .nodes = nodes, .node_count = 2, .cpus = cpus, .cpu_count = 7, .cpu_slots = 3};
    struct run_list list;
    int seen = 0;
    for (int i = 0; i < 3; i++) {
        machine_cpus (&machine, i == 0 ? &nodes[0] : &nodes[1], i == 0 ? 0 : i - 1, &list);
        assert_true (list.count == 2 || list.count == 3);
        for (int j = 0; j < list.count; j++)
            assert_int_equal (list.items[j], cpus[seen++]);
    }
    assert_int_equal (seen, 7);
    machine.cpu_slots = 8;
    machine_cpus (&machine, &nodes[0], 0, &list);
    assert_int_equal (list.count, 0);
}

static void test_slot_map (void **state)
{
    (void)state;
    struct slot_map slot_map = {0};
    assert_int_equal (slot_map_free (&slot_map, 5, 3), 3);
    assert_int_equal (slot_map_take (&slot_map, 5, 3), 0);
    assert_int_equal (slot_map_hold (&slot_map, 5, 1), 0);
    assert_int_equal (slot_map_take (&slot_map, 5, 3), 2);
    assert_int_equal (slot_map_take (&slot_map, 5, 3), -ENOSPC);
    assert_int_equal (slot_map_free (&slot_map, 5, 3), 0);
    assert_int_equal (slot_map_free (&slot_map, 4, 3), 3);
    assert_int_equal (slot_map_hold (&slot_map, 5, 1),
                      0); /* a second time, as after a change of nodes */
    slot_map_release (&slot_map, 5, 1);
    assert_int_equal (slot_map_free (&slot_map, 5, 3), 0);
    slot_map_release (&slot_map, 5, 1);
    assert_int_equal (slot_map_take (&slot_map, 5, 3), 1);
    slot_map_release (&slot_map, 9, 0);
    slot_map_clear (&slot_map);
}

static void test_port (void **state)
{
    (void)state;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl (INADDR_LOOPBACK)};
    socklen_t length = sizeof (address);
    int file = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal (bind (file, (const struct sockaddr *)&address, length), 0);
    assert_int_equal (listen (file, 1), 0);
    assert_int_equal (getsockname (file, (struct sockaddr *)&address, &length), 0);
    assert_false (port_is_free (ntohs (address.sin_port)));
    close (file);
    assert_true (port_is_free (ntohs (address.sin_port)));
}

/* ---- Descriptions of runs ----------------------------------------------------------------- */

static const char *variable (const struct run_description *description, const char *name)
{
    size_t length = strlen (name);
    const char *found = NULL;
    for (char **at = description->environment; *at; at++) {
        if (strncmp (*at, name, length) == 0 && (*at)[length] == '=') {
            assert_null (found); /* once */
            found = *at + length + 1;
        }
    }
    return found;
}

static struct run_description *describe (const struct run_spec *spec, int rank)
{
    char *text;
    size_t length;
    struct run_description *ret;
    struct pollux_error err = {.text = ""};
    if (run_spec_describe (spec, rank, &text, &length, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (run_description_decode ("test", text, length, &ret, NULL), 0);
    free (text);
    return ret;
}

static void test_run_spec (void **state)
{
    (void)state;
    struct stand_in program = stand_in (FOUR);
    struct machine machine;
    struct node nodes[3] = {{.name = "a", .slots = 2},
                            {.name = "b", .slots = 2},
                            {.name = "c", .slots = 1, .type = "cpu"}};
    assert_int_equal (machine_discover (program.path, nodes, 3, &machine, NULL), 0);
    stand_in_remove (&program);
    char *words[] = {"train", "--fast", NULL};
    char *own[] = {"OMP_NUM_THREADS=7", "CUDA_VISIBLE_DEVICES=9", "X=1", NULL};
    struct launch launch = {.command = words,
                            .environment = own,
                            .directory = "/tmp",
                            .checkpoint_dir = "/ckpt",
                            .stop_signal = SIGUSR1,
                            .grace_s = 12};
    struct share shares[] = {{1, 2}, {0, 1}, {2, 1}};
    struct job job = {
        .spec = {.name = "j"}, .generation = 4, .launch = &launch, .placement = {shares, 3}};
    strcpy (nodes[1].type, "v100"); /* as the machine says */
    struct cluster cluster = {.nodes = nodes, .node_count = 3};
    int slots[] = {1, 0, 1, 0};
    struct run_slot_map slot_map = {.port = 20001, .slots = slots, .count = 4};
    char **base = run_spec_environment ();
    assert_non_null (base);
    struct run_spec spec = {.cluster = &cluster,
                            .job = &job,
                            .machine = &machine,
                            .slot_map = &slot_map,
                            .environment = base,
                            .checkpoint_dir = "/s/checkpoints",
                            .url = "http://127.0.0.1:7467",
                            .token = "t0ken",
                            .program = "/bin/pollux",
                            .mpirun = "mpirun",
                            .directory = "/s/run"};
    struct run_description *first = describe (&spec, 0), *last = describe (&spec, 3);
    struct run_description *third = describe (&spec, 2);
    assert_string_equal (first->command[1], "--fast");
    assert_int_equal (first->stop_signal, SIGUSR1);
    assert_string_equal (first->token, "t0ken");
    assert_int_equal (first->slots.items[0], 1);
    assert_int_equal (first->cpus.count, 0);
    /* b has GPUs 3 and 4; its local rank 0 has slot 1. */
    assert_string_equal (variable (first, "CUDA_VISIBLE_DEVICES"), "4,3");
    assert_string_equal (variable (first, "CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
    assert_string_equal (variable (first, "OMP_NUM_THREADS"), "7");
    assert_string_equal (variable (first, "POLLUX_NODE"), "b");
    assert_string_equal (variable (first, "POLLUX_NODE_TYPE"), "v100");
    assert_string_equal (variable (first, "POLLUX_NODES"), "3");
    assert_string_equal (variable (first, "POLLUX_CHECKPOINT_DIR"), "/ckpt");
    assert_string_equal (variable (third, "CUDA_VISIBLE_DEVICES"), "1");
    assert_string_equal (variable (third, "LOCAL_RANK"), "0");
    assert_string_equal (variable (third, "RANK"), "2");
    assert_string_equal (variable (last, "CUDA_VISIBLE_DEVICES"), "");
    assert_string_equal (variable (last, "LOCAL_WORLD_SIZE"), "1");
    assert_int_equal (last->cpus.count, machine.cpu_count);
    run_description_free (first);
    run_description_free (third);
    run_description_free (last);

    launch.launcher = LAUNCHER_MPI;
    struct run_description *mpirun = describe (&spec, 4);
    assert_string_equal (mpirun->command[0], "mpirun");
    assert_null (mpirun->token);
    assert_null (variable (mpirun, "RANK"));
    int count = 0;
    while (mpirun->command[count])
        count++;
    assert_string_equal (mpirun->command[count - 1], "/s/run/j/4");
    run_description_free (mpirun);

    char *text;
    size_t length;
    struct pollux_error err;
    strcpy (nodes[1].name, "gone");
    assert_int_equal (run_spec_describe (&spec, 0, &text, &length, &err), -ENOENT);
    assert_non_null (strstr (err.text, "gone"));
    run_spec_free (base);
    machine_clear (&machine);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_declared_nodes), cmocka_unit_test (test_gpus),
        cmocka_unit_test (test_gpu_types),      cmocka_unit_test (test_mixed_gpus),
        cmocka_unit_test (test_no_gpus),        cmocka_unit_test (test_cpus),
        cmocka_unit_test (test_slot_map),       cmocka_unit_test (test_port),
        cmocka_unit_test (test_run_spec),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
