const INTEGER = /^\d{1,18}$/

/** Of what happened to an object, what a reference asks for: with a uid or a version in it, only what has the same. */
export function matcher(reference: string): (facts: { object: string }) => boolean {
  const wanted = [...new URLSearchParams(reference.split('?', 2)[1] ?? '')]
  return ({ object }) => {
    const has = new URLSearchParams(object.split('?', 2)[1] ?? '')
    return wanted.every(([name, value]) => has.get(name) === value)
  }
}

/** The version that a reference asks for. */
export function versionIn(reference: string): bigint | undefined {
  const version = new URLSearchParams(reference.split('?', 2)[1] ?? '').get('rv') ?? ''
  return INTEGER.test(version) ? BigInt(version) : undefined
}

/** A reference as spans write it; -1n stands for no version. */
export function referenceOf({
  object,
  uid,
  version,
}: {
  object: string
  uid: string | null
  version: bigint
}): string {
  const values = [...(uid === null ? [] : [`uid=${uid}`]), ...(version < 0n ? [] : [`rv=${version}`])]
  return values.length === 0 ? object : `${object}?${values.join('&')}`
}
