//! A job under Kubernetes: the manifest of an Indexed Job in which each pod runs one part.
//! In: a container image, the claim of the volume with the job's folder, whether the plan formats. Out: JSON for `kubectl apply -f`.
//! Nothing is sent anywhere.

use serde_json::json;

/// Mount point of the volume with the job's folder in a pod.
const FOLDER: &str = "/job";

/// How often a failed part is started again.
const RETRIES: u32 = 3;

/// Parameters of a job for Kubernetes.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Parts, one for each index.
    pub shards: u32,
    /// Container image with `bakeoff` in it.
    pub image: &'a str,
    /// Claim of the volume.
    pub claim: &'a str,
    /// Whether filesystems are created and mounted, which needs a privileged pod.
    pub formats: bool,
}

/// The manifest, a Job of `batch/v1` as JSON.
pub fn manifest(asked: &Asked<'_>) -> String {
    let Asked { shards, image, claim, formats } = asked;
    let labels = json!({ "app": "bakeoff" });
    let job = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": { "name": "bakeoff", "labels": labels },
        "spec": {
            "completionMode": "Indexed",
            "completions": shards,
            "parallelism": shards,
            "backoffLimitPerIndex": RETRIES,
            "template": {
                "metadata": { "labels": labels },
                "spec": {
                    "restartPolicy": "Never",
                    // At most one pod per node: pods on one node would disturb each other.
                    "affinity": { "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [
                        { "topologyKey": "kubernetes.io/hostname", "labelSelector": { "matchLabels": labels } },
                    ] } },
                    "containers": [{
                        "name": "shard",
                        "image": image,
                        "command": ["bakeoff", "shard", FOLDER],
                        // Ledgers are named after the node: the host name of a pod differs each time.
                        "env": [{ "name": "NODE_NAME", "valueFrom": { "fieldRef": { "fieldPath": "spec.nodeName" } } }],
                        "securityContext": { "privileged": formats },
                        "volumeMounts": [{ "name": "job", "mountPath": FOLDER }],
                    }],
                    "volumes": [{ "name": "job", "persistentVolumeClaim": { "claimName": claim } }],
                },
            },
        },
    });
    format!("{job:#}\n")
}
