//! A job under Kubernetes: the manifest of an Indexed Job, of which each pod carries out one part.
//! In: a container image, the claim of the volume with the job's folder, what the plan needs. Out: JSON, which `kubectl apply -f` reads.
//! Nothing is sent anywhere.

use serde_json::json;

/// Where the volume with the job's folder is in a pod.
const FOLDER: &str = "/job";

/// How often a part is begun anew after it failed.
const RETRIES: u32 = 3;

/// What a job asks of Kubernetes.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Parts, one for each index.
    pub shards: u32,
    /// Container image with `bakeoff` in it.
    pub image: &'a str,
    /// Claim of the volume.
    pub claim: &'a str,
    /// Whether filesystems are made and mounted, for which a pod must be privileged.
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
                    // No two pods share a node: they would disturb each other.
                    "affinity": { "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [
                        { "topologyKey": "kubernetes.io/hostname", "labelSelector": { "matchLabels": labels } },
                    ] } },
                    "containers": [{
                        "name": "shard",
                        "image": image,
                        "command": ["bakeoff", "shard", FOLDER],
                        // The name that ledgers are told apart by: a pod's own host name is another each time.
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
