import type { PeerRecipe } from './peer-recipes.ts'
import { peerVersions, type CLUSTER_PEERS } from './peer-versions.ts'

type ClusterPeer = (typeof CLUSTER_PEERS)[number]

const KUBERNETES_MODULE = 'k8s.io/kubernetes'
const KUBERNETES = peerVersions['kube-apiserver']

/** Linking one of these takes gigabytes: two compilers at once, each told to keep its heap small. */
export const BOUNDED = { GOFLAGS: '-p=2', GOMEMLIMIT: '2GiB' }

/** The modules of Kubernetes' own repository, released as v0.x beside v1.x; it names them by path, which Go ignores. */
const STAGING = [
  'api',
  'apiextensions-apiserver',
  'apimachinery',
  'apiserver',
  'cli-runtime',
  'client-go',
  'cloud-provider',
  'cluster-bootstrap',
  'code-generator',
  'component-base',
  'component-helpers',
  'controller-manager',
  'cri-api',
  'cri-client',
  'cri-streaming',
  'csi-translation-lib',
  'dynamic-resource-allocation',
  'endpointslice',
  'externaljwt',
  'kms',
  'kube-aggregator',
  'kube-controller-manager',
  'kube-proxy',
  'kube-scheduler',
  'kubectl',
  'kubelet',
  'metrics',
  'mount-utils',
  'pod-security-admission',
  'sample-apiserver',
  'sample-cli-plugin',
  'sample-controller',
  'streaming',
]

/** The programs of a cluster. Those of Kubernetes are linked apart but compiled once, by Go's own cache. */
export const kubernetesRecipes: Readonly<Record<ClusterPeer, PeerRecipe>> = {
  etcd: moduleRecipe('etcd', 'go.etcd.io/etcd/server/v3', 'go.etcd.io/etcd/server/v3'),
  'kube-apiserver': kubernetesRecipe('kube-apiserver'),
  'kube-controller-manager': kubernetesRecipe('kube-controller-manager'),
  'kube-scheduler': kubernetesRecipe('kube-scheduler'),
  kubectl: kubernetesRecipe('kubectl'),
  kwok: moduleRecipe('kwok', 'sigs.k8s.io/kwok', 'sigs.k8s.io/kwok/cmd/kwok'),
}

function moduleRecipe(name: 'etcd' | 'kwok', module: string, main: string): PeerRecipe {
  const version = peerVersions[name]
  return {
    files: { 'go.mod': `module causeway.test/${name}\n\ngo 1.26.0\n\nrequire ${module} ${version}\n` },
    checksumsFrom: `${module}@${version}`,
    goCommands: [buildOf(name, main, '-s -w')],
    env: BOUNDED,
    binary: `bin/${name}`,
  }
}

function kubernetesRecipe(name: Exclude<ClusterPeer, 'etcd' | 'kwok'>): PeerRecipe {
  const [major = '', minor = ''] = KUBERNETES.slice(1).split('.')
  const stamps = { gitVersion: KUBERNETES, gitMajor: major, gitMinor: minor }
  const stamped = Object.entries(stamps).map(
    ([key, value]) => `-X k8s.io/component-base/version.${key}=${value}`,
  )
  return {
    files: { 'go.mod': kubernetesGoMod() },
    checksumsFrom: `${KUBERNETES_MODULE}@${KUBERNETES}`,
    goCommands: [buildOf(name, `${KUBERNETES_MODULE}/cmd/${name}`, ['-s -w', ...stamped].join(' '))],
    env: BOUNDED,
    binary: `bin/${name}`,
  }
}

function buildOf(name: string, main: string, linkerFlags: string): string[] {
  return ['build', '-mod=mod', '-trimpath', `-ldflags=${linkerFlags}`, '-o', `bin/${name}`, main]
}

function kubernetesGoMod(): string {
  const staged = KUBERNETES.replace('v1.', 'v0.')
  const replaced = STAGING.map((name) => `\tk8s.io/${name} => k8s.io/${name} ${staged}`)
  return `module causeway.test/kubernetes

go 1.26.0

godebug default=go1.26

require ${KUBERNETES_MODULE} ${KUBERNETES}

replace (
${replaced.join('\n')}
)
`
}
