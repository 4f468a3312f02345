import type { KubernetesObject, V1ConfigMap, V1ObjectMeta } from '@kubernetes/client-node'

export const CONFIGS = { group: 'example.com', version: 'v1', plural: 'featureconfigs' }
export const ROLLOUTS = { group: 'example.com', version: 'v1', plural: 'featurerollouts' }
/** Where the ConfigMaps of a member are. */
export const NAMESPACE = 'kube-system'
/** Which of them a node agent runs, and which of them it writes. */
export const SETTINGS_LABEL = 'example.com/node-settings'
export const REPORT_LABEL = 'example.com/node-report'
/** What a ConfigMap held before the feature that is being applied. */
export const BEFORE = 'example.com/before'

type Settings = Readonly<Record<string, string>>

export interface Feature {
  name: string
  kind: 'AdmissionPlugins' | 'FeatureGates' | 'KubeletSettings'
  settings: Settings
}

/** How far a member is with a generation of the FeatureConfig. */
export interface State {
  generation: number
  phase: 'Applying' | 'Applied' | 'RolledBack'
  /** The features that its nodes run with, by name. */
  applied: string[]
  message?: string
}

/** On the host: what every member is to have, in this order, and how far each is. */
export interface FeatureConfig extends KubernetesObject {
  metadata: V1ObjectMeta & { name: string; generation: number }
  spec: { features: Feature[] }
  status?: { members?: Record<string, State> }
}

/** In a member: the same, and how far it is here. */
export interface FeatureRollout extends KubernetesObject {
  metadata: V1ObjectMeta & { name: string }
  spec: { generation: number; features: Feature[] }
  status?: State
}

/** What a node agent says of the version of a ConfigMap that it restarted with. */
export interface Restart {
  version: string | undefined
  /** Why it did not come up again. */
  failure?: string
}

const CONFIG_MAPS = {
  AdmissionPlugins: 'admission-plugins',
  FeatureGates: 'feature-gates',
  KubeletSettings: 'kubelet-settings',
}

/** The name of the ConfigMap that holds the settings of a kind. */
export function configMapOf({ kind }: Feature): string {
  return CONFIG_MAPS[kind]
}

export function hasFeature({ data = {} }: V1ConfigMap, { settings }: Feature): boolean {
  return Object.entries(settings).every(([key, value]) => data[key] === value)
}

/** A ConfigMap with a feature, which keeps what it held before. */
export function withFeature(before: V1ConfigMap | undefined, feature: Feature): V1ConfigMap {
  const data = before?.data ?? {}
  return {
    ...before,
    metadata: {
      ...before?.metadata,
      name: configMapOf(feature),
      labels: { [SETTINGS_LABEL]: 'true' },
      annotations: { ...before?.metadata?.annotations, [BEFORE]: JSON.stringify(data) },
    },
    data: { ...data, ...feature.settings },
  }
}

/** A ConfigMap as it was before its last feature. */
export function rolledBack(settings: V1ConfigMap): V1ConfigMap {
  const { [BEFORE]: before = '{}', ...annotations } = settings.metadata?.annotations ?? {}
  return {
    ...settings,
    metadata: { ...settings.metadata, annotations },
    data: JSON.parse(before) as Record<string, string>,
  }
}

const KNOWN: Readonly<Record<string, ReadonlyMap<string, RegExp>>> = {
  'admission-plugins': new Map(
    ['AlwaysPullImages', 'NodeRestriction', 'PodSecurity', 'ResourceQuota'].map((name) => [
      name,
      /^(?:en|dis)abled$/,
    ]),
  ),
  'feature-gates': new Map(
    ['DynamicResourceAllocation', 'InPlacePodVerticalScaling', 'NodeSwap'].map((name) => [
      name,
      /^(?:true|false)$/,
    ]),
  ),
  'kubelet-settings': new Map([
    ['maxPods', /^[1-9]\d*$/],
    ['containerLogMaxSize', /^[1-9]\d*Mi$/],
  ]),
}

/** Why a program does not come up with settings; undefined where it does. */
export function failureWith({ metadata, data = {} }: V1ConfigMap): string | undefined {
  const known = KNOWN[metadata?.name ?? '']
  for (const [key, value] of Object.entries(data)) {
    const fitting = known?.get(key)
    if (fitting === undefined) return `${metadata?.name}: nothing is called ${key}`
    if (!fitting.test(value)) return `${metadata?.name}: ${key} cannot be ${value}`
  }
  return undefined
}
