import type { InferenceConfig, ReceiverConfig } from '../config/causeway-config.ts'
import { type Declarations, typeNamed } from '../config/component-type.ts'
import type { ClusterSources, InferenceRules } from '../kube/inference/inference-settings.ts'
import { parseRelations, RELATIONS } from '../kube/inference/relations.ts'
import { REFERS_BEYOND } from '../model/kubernetes-objects.ts'

/** The rules of inference, from the configuration and from what receivers observe of each cluster. */
export function inferenceRules(
  config: InferenceConfig,
  receivers: readonly ReceiverConfig[],
  { receivers: types }: Pick<Declarations, 'receivers'>,
): InferenceRules {
  const clusters = new Map<string, ClusterSources>()
  for (const { type, settings } of receivers) {
    const observed = typeNamed(types, type)?.observes?.(settings)
    if (observed === undefined || observed.what === 'events') continue
    const seen = clusters.get(observed.cluster) ?? { versions: false, requests: false }
    const follows = observed.what === 'versions' ? { isFollowed: true } : {}
    clusters.set(observed.cluster, { ...seen, ...follows, [observed.what]: true })
  }
  const { relations } = parseRelations(config.relations)
  return { ...config, relations: [...RELATIONS, ...relations], clusters: Object.fromEntries(clusters) }
}

/** The names of the references by which relations find other objects. */
export function soughtReferences({ relations }: Pick<InferenceRules, 'relations'>): Set<string> {
  return new Set(
    relations.flatMap(({ reads }) => {
      if (reads.kind === 'preemptor') return ['nominated']
      if (reads.kind === 'primaries') return ['refers to', REFERS_BEYOND]
      if (reads.kind === 'made for it') return ['made for', 'labelled']
      return reads.kind === 'naming' || reads.kind === 'users' ? [reads.field] : []
    }),
  )
}
