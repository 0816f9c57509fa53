"""What containerd, its network plugins and the kubelet of a real node are told. PURE: a node's description in, texts out."""

import json
from dataclasses import dataclass

RUNTIME = "/run/containerd.sock"
POD_PROCESSES = 4096


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """Everything a node's first process has to know. Paths are the machine's; `cgroup` is the root of its pods."""

    name: str
    folder: str
    binaries: str
    images: tuple[str, ...]
    pause: str
    address: str
    pods: str
    dns: str
    cgroup: str
    kubeconfig: str
    kubelet_ca: str
    labels: dict[str, str]
    resource: str
    cards: int


def containerd(spec: NodeSpec, snapshotter: str) -> str:
    """Root here may lack the right to lower an OOM score, and AppArmor's tools may not be there."""
    return f"""version = 2
root = "{spec.folder}/containerd"
state = "/run/containerd-state"
[grpc]
  address = "{RUNTIME}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{spec.folder}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{spec.pause}"
  disable_apparmor = true
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{spec.folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "{snapshotter}"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
"""


def pod_network(spec: NodeSpec) -> str:
    """A bridge in the node, whose pods are routed and never translated."""
    ipam = {
        "type": "host-local",
        "dataDir": "/run/ipam",
        "ranges": [[{"subnet": spec.pods}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {"type": "bridge", "bridge": "pods", "isGateway": True, "hairpinMode": True, "ipam": ipam}
    return json.dumps({"cniVersion": "1.0.0", "name": "berth", "plugins": [bridge]})


def kubelet(spec: NodeSpec) -> str:
    """JSON is YAML. Disk limits are off: a node shares its disk with everything else on the machine."""
    config = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "failCgroupV1": False,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": spec.cgroup,
        "containerRuntimeEndpoint": f"unix://{RUNTIME}",
        "address": spec.address,
        "healthzPort": 0,
        "readOnlyPort": 0,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": False},
            "x509": {"clientCAFile": spec.kubelet_ca},
        },
        "authorization": {"mode": "AlwaysAllow"},
        "failSwapOn": False,
        "resolvConf": "",
        "clusterDomain": "cluster.local",
        "clusterDNS": [spec.dns],
        "imageGCHighThresholdPercent": 100,
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "0%", "imagefs.available": "0%"},
        "makeIPTablesUtilChains": False,
        "podPidsLimit": POD_PROCESSES,
        "podLogsDir": f"{spec.folder}/logs",
        "registerWithTaints": [],
    }
    return json.dumps(config)
