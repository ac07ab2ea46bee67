/* See unit-setting.h. What is allowed stands in systemd.resource-control(5) and systemd.exec(5) of
 * systemd 252; what a newer one has besides could be added, but a job with it would be refused by
 * machines with the older.
 *
 * What systemd.exec(5) has of this and is missing: PassEnvironment and UnsetEnvironment, which
 * could take the run's nonce away; all that mounts something over a path, or makes another root;
 * RuntimeDirectory, which is removed with the first of two runs side by side; and what root opens,
 * makes or hands over by a name that the job's user may have had a hand in. */
#include "unit-setting.h"

#include <glib.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "nearest.h"

/* In the order of strcmp(), the last apart. */
static const char *const settings_of_unit[] = {"After", "Wants", NULL};
static const char *const settings_of_service[] = {"AllowedCPUs",
                                                  "AllowedMemoryNodes",
                                                  "AmbientCapabilities",
                                                  "AppArmorProfile",
                                                  "CPUAffinity",
                                                  "CPUQuota",
                                                  "CPUQuotaPeriodSec",
                                                  "CPUSchedulingPolicy",
                                                  "CPUSchedulingPriority",
                                                  "CPUSchedulingResetOnFork",
                                                  "CPUWeight",
                                                  "CapabilityBoundingSet",
                                                  "CoredumpFilter",
                                                  "DefaultMemoryLow",
                                                  "DefaultMemoryMin",
                                                  "DeviceAllow",
                                                  "DevicePolicy",
                                                  "ExecPaths",
                                                  "IOAccounting",
                                                  "IODeviceLatencyTargetSec",
                                                  "IODeviceWeight",
                                                  "IOReadBandwidthMax",
                                                  "IOReadIOPSMax",
                                                  "IOSchedulingClass",
                                                  "IOSchedulingPriority",
                                                  "IOWeight",
                                                  "IOWriteBandwidthMax",
                                                  "IOWriteIOPSMax",
                                                  "IPAccounting",
                                                  "IPAddressAllow",
                                                  "IPAddressDeny",
                                                  "IPCNamespacePath",
                                                  "IPEgressFilterPath",
                                                  "IPIngressFilterPath",
                                                  "IgnoreSIGPIPE",
                                                  "InaccessiblePaths",
                                                  "KeyringMode",
                                                  "LimitAS",
                                                  "LimitCORE",
                                                  "LimitCPU",
                                                  "LimitDATA",
                                                  "LimitFSIZE",
                                                  "LimitLOCKS",
                                                  "LimitMEMLOCK",
                                                  "LimitMSGQUEUE",
                                                  "LimitNICE",
                                                  "LimitNOFILE",
                                                  "LimitNPROC",
                                                  "LimitRSS",
                                                  "LimitRTPRIO",
                                                  "LimitRTTIME",
                                                  "LimitSIGPENDING",
                                                  "LimitSTACK",
                                                  "LockPersonality",
                                                  "LogLevelMax",
                                                  "LogRateLimitBurst",
                                                  "LogRateLimitIntervalSec",
                                                  "ManagedOOMMemoryPressure",
                                                  "ManagedOOMMemoryPressureLimit",
                                                  "ManagedOOMPreference",
                                                  "ManagedOOMSwap",
                                                  "MemoryAccounting",
                                                  "MemoryDenyWriteExecute",
                                                  "MemoryHigh",
                                                  "MemoryLow",
                                                  "MemoryMax",
                                                  "MemoryMin",
                                                  "MemorySwapMax",
                                                  "NUMAMask",
                                                  "NUMAPolicy",
                                                  "NetworkNamespacePath",
                                                  "Nice",
                                                  "NoExecPaths",
                                                  "NoNewPrivileges",
                                                  "OOMScoreAdjust",
                                                  "Personality",
                                                  "PrivateDevices",
                                                  "PrivateIPC",
                                                  "PrivateMounts",
                                                  "PrivateNetwork",
                                                  "PrivateTmp",
                                                  "PrivateUsers",
                                                  "ProcSubset",
                                                  "ProtectClock",
                                                  "ProtectControlGroups",
                                                  "ProtectHome",
                                                  "ProtectHostname",
                                                  "ProtectKernelLogs",
                                                  "ProtectKernelModules",
                                                  "ProtectKernelTunables",
                                                  "ProtectProc",
                                                  "ProtectSystem",
                                                  "ReadOnlyPaths",
                                                  "ReadWritePaths",
                                                  "RemoveIPC",
                                                  "RestrictAddressFamilies",
                                                  "RestrictNamespaces",
                                                  "RestrictNetworkInterfaces",
                                                  "RestrictRealtime",
                                                  "RestrictSUIDSGID",
                                                  "SELinuxContext",
                                                  "SecureBits",
                                                  "SmackProcessLabel",
                                                  "SocketBindAllow",
                                                  "SocketBindDeny",
                                                  "StartupAllowedCPUs",
                                                  "StartupAllowedMemoryNodes",
                                                  "StartupCPUWeight",
                                                  "StartupIOWeight",
                                                  "SupplementaryGroups",
                                                  "SyslogFacility",
                                                  "SyslogIdentifier",
                                                  "SyslogLevel",
                                                  "SyslogLevelPrefix",
                                                  "SystemCallArchitectures",
                                                  "SystemCallErrorNumber",
                                                  "SystemCallFilter",
                                                  "SystemCallLog",
                                                  "TasksAccounting",
                                                  "TasksMax",
                                                  "TimerSlackNSec",
                                                  "UMask",
                                                  NULL};

#define LIFE "jobkeeper itself says how the unit of a run starts, ends and is killed"
#define PLACE "jobkeeper itself says where the unit of a run stands, and looks for it there"
#define LOG "jobkeeper itself says by what the output and the usage of a run are found"
#define MOUNT                                                                                      \
        "it could hide from jobkeeper's own steps in the unit (see jobkeeper-launch(8)) what "     \
        "they "                                                                                    \
        "read and write under /run"

#define OUTPUT                                                                                     \
        "the output of a run is in the journal; a file would be opened by root, wherever a link "  \
        "of the job's user leads"
#define DIRECTORY                                                                                  \
        "a directory that is there already, whosever it is, would be given to the job's user: "    \
        "make it with tmpfiles.d(5)"

/* The first that matches says it. */
static const struct {
        const char *pattern;
        const char *key; /* of a job, that does it; or */
        const char *why;
} refused[] = {
    {"Description", "description", NULL},
    {"OnCalendar", "schedule", NULL},
    {"RandomizedDelaySec", "random-delay", NULL},
    {"Persistent", "catch-up", NULL},
    {"ExecStart", "exec", NULL},
    {"User", "user", NULL},
    {"DynamicUser", "user", NULL},
    {"Group", "group", NULL},
    {"WorkingDirectory", "working-directory", NULL},
    {"EnvironmentFile", "environment-file", NULL},
    {"*Environment", "environment", NULL},
    {"LoadCredential*", "credentials", NULL},
    {"SetCredential*", "credentials", NULL},
    {"ImportCredential", "credentials", NULL},
    {"TimeoutStartSec", "timeout", NULL},
    {"TimeoutSec", "timeout", NULL},
    {"RuntimeMaxSec", "timeout", NULL},
    {"TimeoutStopSec", "stop-timeout", NULL},
    {"RestartPreventExitStatus", "no-retry", NULL},
    {"RestartKillSignal", NULL, LIFE},
    {"Restart*", "retries", NULL},
    {"Slice", NULL, PLACE},
    {"Delegate*", NULL, PLACE},
    {"CPUAccounting", NULL, LOG},
    {"LogExtraFields", NULL, LOG},
    {"LogNamespace", NULL, LOG},
    {"RootDirectoryStartOnly", NULL, LIFE},
    {"Root*", NULL, MOUNT},
    {"MountAPIVFS", NULL, MOUNT},
    {"MountFlags", NULL, MOUNT},
    {"BindPaths", NULL, MOUNT},
    {"BindReadOnlyPaths", NULL, MOUNT},
    {"TemporaryFileSystem", NULL, MOUNT},
    {"MountImage*", NULL, MOUNT},
    {"Extension*", NULL, MOUNT},
    {"RuntimeDirectory*", NULL, "another run of the job would lose it: use PrivateTmp"},
    {"ConfigurationDirectory*", NULL, "what a run reads is not made by it"},
    {"StateDirectory*", NULL, DIRECTORY},
    {"CacheDirectory*", NULL, DIRECTORY},
    {"LogsDirectory*", NULL, DIRECTORY},
    {"RestrictFileSystems", NULL, MOUNT},
    {"PAMName", NULL, "a run has no session"},
    {"StandardInput*", NULL, "a run has nothing to read from"},
    {"StandardOutput", NULL, OUTPUT},
    {"StandardError", NULL, OUTPUT},
    {"TTY*", NULL, "a run has no terminal"},
    {"Utmp*", NULL, "a run has no terminal"},
    {"Type", NULL, LIFE},
    {"Exec*", NULL, LIFE},
    {"ExitType", NULL, LIFE},
    {"RemainAfterExit", NULL, LIFE},
    {"GuessMainPID", NULL, LIFE},
    {"PIDFile", NULL, LIFE},
    {"BusName", NULL, LIFE},
    {"NotifyAccess", NULL, LIFE},
    {"NonBlocking", NULL, LIFE},
    {"Sockets", NULL, LIFE},
    {"FileDescriptorStore*", NULL, LIFE},
    {"OpenFile", NULL, LIFE},
    {"OOMPolicy", NULL, LIFE},
    {"SuccessExitStatus", NULL, LIFE},
    {"KillMode", NULL, LIFE},
    {"*KillSignal", NULL, LIFE},
    {"SendSIG*", NULL, LIFE},
    {"Watchdog*", NULL, LIFE},
    {"Timeout*", NULL, LIFE},
    {"RuntimeRandomizedExtraSec", NULL, LIFE},
    {"*Action", NULL, LIFE},
    {"*ActionExitStatus", NULL, LIFE},
    {"RebootArgument", NULL, LIFE},
    {"StartLimit*", NULL, LIFE},
    {"Job*TimeoutSec", NULL, LIFE},
    {"Before", NULL, LIFE},
    {"Requires", NULL, LIFE},
    {"Requisite", NULL, LIFE},
    {"BindsTo", NULL, LIFE},
    {"PartOf", NULL, LIFE},
    {"RequiresMountsFor", NULL,
     "it would end a run with its mount: use \"After\" with the .mount unit"},
    {"Upholds", NULL, LIFE},
    {"Conflicts", NULL, LIFE},
    {"OnFailure*", NULL, LIFE},
    {"OnSuccess*", NULL, LIFE},
    {"Propagates*", NULL, LIFE},
    {"ReloadPropagatedFrom", NULL, LIFE},
    {"StopPropagatedFrom", NULL, LIFE},
    {"JoinsNamespaceOf", NULL, LIFE},
    {"AllowIsolate", NULL, LIFE},
    {"IgnoreOnIsolate", NULL, LIFE},
    {"DefaultDependencies", NULL, LIFE},
    {"RefuseManual*", NULL, LIFE},
    {"StopWhenUnneeded", NULL, LIFE},
    {"CollectMode", NULL, LIFE},
    {"Condition*", NULL, LIFE},
    {"Assert*", NULL, LIFE},
    {"PermissionsStartOnly", NULL, LIFE},
};

static int compare_settings(const void *name, const void *entry) {
        return strcmp(name, *(const char *const *)entry);
}

static bool setting_is_among(const char *const *names, size_t n, const char *name) {
        return bsearch(name, names, n, sizeof *names, compare_settings) != NULL;
}

UnitSection unit_setting_section(const char *name) {
        if (setting_is_among(settings_of_unit, G_N_ELEMENTS(settings_of_unit) - 1, name))
                return UNIT_SECTION_UNIT;
        if (setting_is_among(settings_of_service, G_N_ELEMENTS(settings_of_service) - 1, name))
                return UNIT_SECTION_SERVICE;
        return UNIT_SECTION_NONE;
}

char **unit_setting_names(void) {
        GPtrArray *names = g_ptr_array_new();

        for (const char *const *name = settings_of_unit; *name; name++)
                g_ptr_array_add(names, g_strdup(*name));
        for (const char *const *name = settings_of_service; *name; name++)
                g_ptr_array_add(names, g_strdup(*name));
        g_ptr_array_add(names, NULL);
        return (char **)g_ptr_array_free(names, FALSE);
}

char *unit_setting_refusal(const char *name) {
        if (unit_setting_section(name) != UNIT_SECTION_NONE)
                return NULL;
        for (size_t i = 0; i < G_N_ELEMENTS(refused); i++)
                if (g_pattern_match_simple(refused[i].pattern, name))
                        return refused[i].key
                                   ? g_strdup_printf("use the job's key \"%s\"", refused[i].key)
                                   : g_strdup(refused[i].why);
        return NULL;
}

const char *unit_setting_nearest(const char *name) {
        const char *nearest = nearest_name(name, settings_of_service);

        return nearest ? nearest : nearest_name(name, settings_of_unit);
}
