import type { ObjectIdentity } from '../../model/kubernetes/object-facts.ts'

/** How a written or read object is named in spans: `<apiVersion>/<resource>/[<namespace>/]<name>?uid=<uid>&rv=<version>`. */
export function referenceOf(
  { apiVersion, resource, namespace, name, uid }: ObjectIdentity,
  version: bigint | undefined,
): string {
  const object = [apiVersion, resource, ...(namespace === '' ? [] : [namespace]), name].join('/')
  const known = [uid === '' ? '' : `uid=${uid}`, version === undefined ? '' : `rv=${version}`]
  const query = known.filter((one) => one !== '').join('&')
  return query === '' ? object : `${object}?${query}`
}
