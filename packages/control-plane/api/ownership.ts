import type { KubeObject, Labels, OwnerReference } from './kube-objects.ts'

/** True when an object's labels have everything the selector asks for. */
export function matches(selector: Labels, { metadata }: KubeObject): boolean {
  for (const key in selector) if (metadata.labels?.[key] !== selector[key]) return false
  return true
}

/** True when `owner` is why `object` exists. */
export function owns(owner: KubeObject, { metadata }: KubeObject): boolean {
  return metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) ?? false
}

/** What an object made for `owner` says about it. */
export function ownerReferenceTo({ apiVersion, kind, metadata }: KubeObject): OwnerReference[] {
  return [{ apiVersion, kind, name: metadata.name, uid: metadata.uid }]
}

/** The name of the owner of that kind. */
export function ownerName({ metadata }: KubeObject, kind: string): string | undefined {
  return metadata.ownerReferences?.find((owner) => owner.kind === kind)?.name
}
