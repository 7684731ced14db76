//! A job under Kubernetes: the manifest of an Indexed Job, of which each pod carries out one part.
//! In: a container image, the claim of the volume with the job's folder, what the plan needs. Out: JSON, which `kubectl apply -f` reads.
//! Nothing is sent anywhere.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where the volume with the job's folder is in a pod.
const FOLDER: &str = "/job";

/// How often a part is begun anew after it failed.
const RETRIES: u32 = 3;

/// The manifest, as far as it is used here: `batch/v1`, Job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Manifest {
    api_version: String,
    kind: String,
    metadata: Metadata,
    spec: JobSpec,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Metadata {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    name: String,
    labels: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct JobSpec {
    completion_mode: String,
    completions: u32,
    parallelism: u32,
    backoff_limit_per_index: u32,
    template: Template,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Template {
    metadata: Metadata,
    spec: PodSpec,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PodSpec {
    restart_policy: String,
    affinity: Affinity,
    containers: Vec<Container>,
    volumes: Vec<Volume>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Affinity {
    pod_anti_affinity: AntiAffinity,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AntiAffinity {
    required_during_scheduling_ignored_during_execution: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Term {
    topology_key: String,
    label_selector: Selector,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Selector {
    match_labels: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Container {
    name: String,
    image: String,
    command: Vec<String>,
    env: Vec<Variable>,
    security_context: Security,
    volume_mounts: Vec<VolumeMount>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Variable {
    name: String,
    value_from: Source,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Source {
    field_ref: Field,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Field {
    field_path: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Security {
    privileged: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct VolumeMount {
    name: String,
    mount_path: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Volume {
    name: String,
    persistent_volume_claim: Claim,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Claim {
    claim_name: String,
}

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

/// The manifest. No two pods share a node: they would disturb each other.
pub fn manifest(asked: &Asked<'_>) -> Manifest {
    let labels = BTreeMap::from([("app".to_owned(), "bakeoff".to_owned())]);
    let term = Term {
        topology_key: "kubernetes.io/hostname".into(),
        label_selector: Selector { match_labels: labels.clone() },
    };
    let container = Container {
        name: "shard".into(),
        image: asked.image.into(),
        command: ["bakeoff", "shard", FOLDER].map(String::from).into(),
        // The name that ledgers are told apart by: a pod's own host name is another each time.
        env: vec![Variable {
            name: "NODE_NAME".into(),
            value_from: Source { field_ref: Field { field_path: "spec.nodeName".into() } },
        }],
        security_context: Security { privileged: asked.formats },
        volume_mounts: vec![VolumeMount { name: "job".into(), mount_path: FOLDER.into() }],
    };
    let pod = PodSpec {
        restart_policy: "Never".into(),
        affinity: Affinity {
            pod_anti_affinity: AntiAffinity { required_during_scheduling_ignored_during_execution: vec![term] },
        },
        containers: vec![container],
        volumes: vec![Volume { name: "job".into(), persistent_volume_claim: Claim { claim_name: asked.claim.into() } }],
    };
    Manifest {
        api_version: "batch/v1".into(),
        kind: "Job".into(),
        metadata: Metadata { name: "bakeoff".into(), labels: labels.clone() },
        spec: JobSpec {
            completion_mode: "Indexed".into(),
            completions: asked.shards,
            parallelism: asked.shards,
            backoff_limit_per_index: RETRIES,
            template: Template { metadata: Metadata { name: String::new(), labels }, spec: pod },
        },
    }
}
