import { type ClusterObjects, type KnownObject } from '../../model/inference-store.ts'
import {
  ANY_KIND,
  type ContentReference,
  isGuessed,
  isResourceLike,
  type ObjectIdentity,
} from '../../model/kubernetes-objects.ts'

/** The kinds of Kubernetes that a reference without a kind can mean. */
const REFERRED_TO = ['services', 'deployments', 'statefulsets', 'daemonsets', 'jobs', 'configmaps', 'secrets']

export function objectOf(
  { uid, resource, namespace, name }: ContentReference,
  ofWrite: string,
  objects: ClusterObjects,
): KnownObject | undefined {
  const known = uid === undefined ? undefined : objects.get(uid)
  return (
    known ??
    objects.named(resource, namespace, name) ??
    objects.named(resource, ofWrite, name) ??
    objects.named(resource, '', name)
  )
}

/** The resources a reference can mean. By default: kinds in the referring object's API group, and what its controller reconciles. */
export function resourcesOf(
  { resource }: ContentReference,
  { apiVersion }: ObjectIdentity,
  by: string,
  objects: ClusterObjects,
): string[] {
  if (!isGuessed(resource)) return [resource]
  const ofKubernetes = resource === ANY_KIND ? REFERRED_TO : []
  const kinds = [...objects.kindsOf(groupOf({ apiVersion })), ...objects.primariesOf(by), ...ofKubernetes]
  return [...new Set(kinds)].filter((kind) => isResourceLike(kind, resource))
}

export const groupOf = ({ apiVersion }: Pick<ObjectIdentity, 'apiVersion'>): string =>
  apiVersion.slice(0, apiVersion.indexOf('/'))
