/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configurations: the sample file has the defaults, accepted files, and all errors of a file at
 * once.
 */
#include "unit.h"

#include <errno.h>

#include "wire/config.h"
#include "wire/node.h"

static char *dump (const struct wire_config *config)
{
    struct pollux_error err;
    json_t *object = wire_config_encode (config, &err);
    if (!object)
        fail_msg ("%s", err.text);
    char *text = json_dumps (object, JSON_COMPACT);
    json_decref (object);
    return text;
}

static const char *const policies[] = {"pollux", "fifo", NULL};
static const char *const backends[] = {"local", NULL};
static const struct wire_config_names names = {policies, backends};

static void test_sample (void **state)
{
    (void)state;
    struct wire_config config, defaults;
    struct pollux_error err;
    if (wire_config_read ("docs/polluxd.yaml", &names, NULL, &config, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (wire_config_default (&defaults, &err), 0);
    char *written = dump (&config), *defaults_text = dump (&defaults);
    assert_string_equal (written, defaults_text);
    /* The sample has a line for every field. */
    FILE *file = fopen ("docs/polluxd.yaml", "r");
    assert_non_null (file);
    static char text[1 << 16];
    size_t length = fread (text, 1, sizeof (text) - 1, file);
    text[length] = '\0';
    fclose (file);
    json_t *fields = json_loads (defaults_text, 0, NULL);
    const char *key;
    json_t *value;
    json_object_foreach (fields, key, value)
    {
        char line[80];
        snprintf (line, sizeof (line), "\n%s: ", key);
        if (!strstr (text, line))
            fail_msg ("docs/polluxd.yaml: no line for %s", key);
    }
    json_decref (fields);
    free (written);
    free (defaults_text);
    wire_config_clear (&config);
    wire_config_clear (&defaults);
}

static void test_whole (void **state)
{
    (void)state;
    static const char yaml[] = "state: /s\n"
                               "listen: ['[::1]:0', unix:/run/p.sock]\n"
                               "host_names: head.example\n"
                               "backend: local\n"
                               "nodes: [left:4, 'right:2:a100', {name: c, slots: 1, type: cpu}]\n"
                               "slots: cpu\n"
                               "checkpoints: /ckpt\n"
                               "policy: fifo\n"
                               "interval: 1.5\n"
                               "restart_delay: 0\n"
                               "fairness: -.inf\n"
                               "experience: false\n"
                               "cluster: /c.yaml\n"
                               "goal: band:0.35,0.65\n"
                               "grow: |\n"
                               "  order --now\n"
                               "shrink: [/bin/give, back]\n"
                               "hook_timeout: 9\n"
                               "tls_cert: /c.pem\n"
                               "tls_key: /c.key\n"
                               "tls_self_signed: true\n"
                               "insecure: true\n"
                               "run_as: nobody\n"
                               "allow_root: true\n"
                               "auth: munge\n"
                               "admin_users: [ann, bob]\n"
                               "log_level: debug\n"
                               "log_format: json\n"
                               "access_log: false\n"
                               "max_body: 65536\n"
                               "rate: 5\n"
                               "burst: 6\n"
                               "connections: 16\n"
                               "connections_per_address: 4\n"
                               "job_log_limit: 1048576\n"
                               "keep_events: 5000\n"
                               "policy_options: {quantum: 60, p: -.inf}\n";
    static const char json[] =
        "{\"state\":\"/s\",\"listen\":[\"[::1]:0\",\"unix:/run/p.sock\"],"
        "\"tls_cert\":\"/c.pem\",\"tls_key\":\"/c.key\","
        "\"host_names\":[\"head.example\"],\"admin_users\":[\"ann\",\"bob\"],\"backend\":\"local\","
        "\"nodes\":[{\"name\":\"left\",\"slots\":4},{\"name\":\"right\",\"slots\":2,\"type\":"
        "\"a100\"},{\"name\":\"c\",\"slots\":1,\"type\":\"cpu\"}],"
        "\"cluster\":\"/c.yaml\",\"goal\":\"band:0.35,0.65\","
        "\"grow\":[\"/bin/sh\",\"-c\",\"order --now \\\"$@\\\"\",\"grow\"],"
        "\"shrink\":[\"/bin/give\",\"back\"],\"checkpoints\":\"/ckpt\","
        "\"slots\":\"cpu\",\"policy\":\"fifo\",\"interval\":1.5,\"restart_delay\":0.0,"
        "\"fairness\":\"-inf\",\"experience\":false,\"hook_timeout\":9.0,\"tls_self_signed\":true,"
        "\"insecure\":true,"
        "\"run_as\":\"nobody\","
        "\"allow_root\":true,\"auth\":\"munge\",\"log_"
        "level\":\"debug\","
        "\"log_format\":\"json\",\"access_log\":false,\"max_body\":65536,"
        "\"rate\":5.0,\"burst\":6.0,\"connections\":16,"
        "\"connections_per_address\":4,\"job_log_limit\":1048576,\"keep_events\":5000,"
        "\"policy_options\":{\"quantum\":60.0,\"p\":\"-inf\"},"
        "\"slurm\":{\"partition\":\"\",\"nodes\":\"\",\"reservation\":\"\",\"gres\":\"gpu\",\"gres_"
        "type\":\"\","
        "\"directory\":\"%h/.pollux\",\"min_uid\":1000}}";
    struct wire_config config;
    struct pollux_error err;
    if (wire_config_parse ("c.yaml", yaml, strlen (yaml), &names, NULL, &config, &err) < 0)
        fail_msg ("%s", err.text);
    assert_true (isinf (config.p) && config.p < 0);
    assert_true (config.nodes[1].available);
    char *text = dump (&config);
    assert_string_equal (text, json);
    wire_config_clear (&config);
    free (text);
    if (wire_config_parse ("c.json", json, strlen (json), NULL, NULL, &config, &err) < 0)
        fail_msg ("%s", err.text);
    text = dump (&config);
    assert_string_equal (text, json);
    wire_config_clear (&config);
    free (text);
}

static void test_all_at_once (void **state)
{
    (void)state;
    static const char yaml[] = "state: here\n"
                               "listen: [7467, '127.0.0.1:70000', unix:sock, ok:1]\n"
                               "host_names: ['a b']\n"
                               "backend: slurm\n"
                               "nodes:\n"
                               "- left\n"
                               "- left:0\n"
                               "- a:1\n"
                               "- a:2\n"
                               "- {name: b, slot: 3}\n"
                               "- a/b:1\n"
                               "- 'a:1:'\n"
                               "policy: bestest\n"
                               "interval: 0\n"
                               "fairness: 2\n"
                               "allow_root: 1\n"
                               "log_level: loud\n"
                               "log_levle: info\n"
                               "max_body: 1\n"
                               "connections: 8\n"
                               "connections_per_address: 9\n"
                               "run_as: ''\n"
                               "auth: magic\n"
                               "admin_users: ['a b']\n"
                               "cluster: here.yaml\n"
                               "goal: bend\n"
                               "grow: ' '\n"
                               "shrink: 7\n"
                               "hook_timeout: 0\n";
    static const char *const expected[] = {
        "c:1:8: state: expected an absolute path below 4096 bytes, got 'here'",
        "c:2:10: listen[0]: expected ADDRESS:PORT, such as 127.0.0.1:7467, or unix:/PATH, got "
        "'7467'",
        "c:2:16: listen[1]: expected ADDRESS:PORT, such as 127.0.0.1:7467, or unix:/PATH, got "
        "''127.0.0.1:70000''",
        "c:2:35: listen[2]: expected unix:/PATH below 108 bytes, got 'unix:sock'",
        "c:3:14: host_names[0]: expected the name of a host, got ''a b''",
        "c:4:10: backend: expected \"local\", got 'slurm'",
        "c:6:3: nodes[0]: expected NAME:SLOTS or NAME:SLOTS:TYPE with 1 to 1024 slots, such as "
        "left:4, got 'left'",
        "c:7:3: nodes[1]: expected NAME:SLOTS or NAME:SLOTS:TYPE with 1 to 1024 slots, such as "
        "left:4, got 'left:0'",
        "c:9:3: nodes[3]: expected every name once, got 'a:2'",
        "c:10:3: nodes[4].slots: expected an integer from 1 to 1024, got nothing",
        "c:10:13: nodes[4].slot: no such field; did you mean 'slots'?",
        "c:11:3: nodes[5]: expected NAME:SLOTS or NAME:SLOTS:TYPE with 1 to 1024 slots, such as "
        "left:4, got 'a/b:1'",
        "c:12:3: nodes[6]: expected NAME:SLOTS or NAME:SLOTS:TYPE with 1 to 1024 slots, such as "
        "left:4, got ''a:1:''",
        "c:13:9: policy: expected \"pollux\" or \"fifo\", got 'bestest'",
        "c:14:11: interval: expected a number from 0.01 to 86400, got '0'",
        "c:15:11: fairness: expected a number up to 1, or \"-inf\", got '2'",
        "c:16:13: allow_root: expected true or false, got '1'",
        "c:17:12: log_level: expected \"error\", \"warning\", \"info\" or \"debug\", got 'loud'",
        "c:18:1: log_levle: no such field; did you mean 'log_level'?",
        "c:19:11: max_body: expected an integer from 4096 to 67108864, got '1'",
        "c:21:26: connections_per_address: expected at most connections (8), got '9'",
        "c:22:9: run_as: expected a name of 1 to 63 bytes, got ''''",
        "c:23:7: auth: expected \"token\" or \"munge\", got 'magic'",
        "c:24:15: admin_users[0]: expected the name of a user, got ''a b''",
        "c:25:10: cluster: expected an absolute path below 4096 bytes, got 'here.yaml'",
        "c:26:7: goal: goal 'bend': expected fixed, band:LOW,HIGH, budget:X or cost:F, got 'bend'",
        "c:27:7: grow: expected a command, got '' ''",
        "c:28:9: shrink: expected a text for the shell or a list of words, got '7'",
        "c:29:15: hook_timeout: expected a number from 0.1 to 86400, got '0'",
    };
    struct wire_config config = {0};
    struct wire_diagnostics diagnostics = {0};
    struct pollux_error err;
    assert_int_equal (
        wire_config_parse ("c", yaml, strlen (yaml), &names, &diagnostics, &config, &err), -EINVAL);
    assert_null (config.state);
    assert_non_null (strstr (err.text, "c:1:8: state: expected an absolute path"));
    for (int i = 0; i < diagnostics.count; i++) {
        assert_true (i < (int)COUNT (expected));
        wire_diagnostic_fail (&diagnostics.items[i], "c", &err);
        assert_string_equal (err.text, expected[i]);
    }
    assert_int_equal (diagnostics.count, COUNT (expected));
}

static void test_empty (void **state)
{
    (void)state;
    struct wire_config config;
    struct pollux_error err;
    assert_int_equal (wire_config_parse ("c", "{}", 2, &names, NULL, &config, &err), 0);
    assert_string_equal (config.state, "/var/lib/pollux");
    assert_int_equal (config.node_count, 0);
    wire_config_clear (&config);
    assert_int_equal (wire_config_parse ("c", "7", 1, &names, NULL, &config, &err), -EINVAL);
    assert_string_equal (err.text, "c:1:1: expected an object, got '7'");
    assert_int_equal (wire_config_read ("/nosuch", &names, NULL, &config, &err), -ENOENT);
}

static void test_nodes (void **state)
{
    (void)state;
    struct node node;
    struct pollux_error err;
    assert_int_equal (wire_node_parse ("left:4", &node, &err), 0);
    assert_string_equal (node.name, "left");
    assert_string_equal (node.type, "");
    assert_int_equal (node.slots, 4);
    assert_true (node.available);
    assert_int_equal (wire_node_parse ("a-1:1024:a100", &node, &err), 0);
    assert_string_equal (node.type, "a100");
    static const char *const wrong[] = {
        "",        ":",    "a",
        "a:",      ":4",   "a:0",
        "a:1025",  "a:1:", "a:1:b:",
        "a:1:b:c", "a:x",  "a::b",
        "a: 1",    "/:1",  "a:1:b c",
        "a:+",     "..:1", "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz0123456789abcd:1"};
    for (size_t i = 0; i < COUNT (wrong); i++) {
        if (wire_node_parse (wrong[i], &node, &err) != -EINVAL)
            fail_msg ("'%s' was accepted", wrong[i]);
        assert_non_null (strstr (err.text, "expected NAME:SLOTS or NAME:SLOTS:TYPE"));
    }
}

static void note (void *self, const char *field)
{
    char *fields = self;
    size_t length = strlen (fields);
    assert_true (length + strlen (field) + 2 < 256);
    sprintf (fields + length, "%s ", field);
}

static void test_compare (void **state)
{
    (void)state;
    static const struct {
        const char *first, *second, *fields;
    } cases[] = {
        {"rate: 9", "rate: 9.0", ""},
        {"rate: 9", "{}", "rate "},
        {"{}", "interval: 9\nlisten: [127.0.0.1:0]", "listen interval "},
        {"checkpoints: /a", "{}", "checkpoints "},
        {"{}", "checkpoints: /a", "checkpoints "},
        {"nodes: [{name: a, slots: 1}]", "nodes: [{name: a, slots: 2}]", "nodes "},
        {"slurm: {partition: a}", "slurm: {partition: a}", ""},
        {"slurm: {partition: a, nodes: a1}", "slurm: {partition: b, reservation: r}",
         "slurm.partition slurm.nodes slurm.reservation "},
        {"{}", "slurm: {gres: npu, gres_type: x, directory: /a/%u, min_uid: 5}",
         "slurm.gres slurm.gres_type slurm.directory slurm.min_uid "},
        {"slurm: {defaults: {time_limit: 5}}", "slurm: {defaults: {time_limit: 6}}",
         "slurm.defaults "},
        {"slurm: {partitions: {a: {qos: b}}}", "slurm: {defaults: {qos: b}}",
         "slurm.partitions slurm.defaults "},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct wire_config first, second;
        struct pollux_error err;
        char fields[256] = "";
        if (wire_config_parse ("a.yaml", cases[i].first, strlen (cases[i].first), &names, NULL,
                               &first, &err) < 0 ||
            wire_config_parse ("b.yaml", cases[i].second, strlen (cases[i].second), &names, NULL,
                               &second, &err) < 0)
            fail_msg ("case %zu: %s", i, err.text);
        assert_int_equal (wire_config_compare (&first, &second, note, fields, &err), 0);
        assert_string_equal (fields, cases[i].fields);
        wire_config_clear (&first);
        wire_config_clear (&second);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_sample),      cmocka_unit_test (test_whole),
        cmocka_unit_test (test_all_at_once), cmocka_unit_test (test_empty),
        cmocka_unit_test (test_nodes),       cmocka_unit_test (test_compare),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
