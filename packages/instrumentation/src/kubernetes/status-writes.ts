const unreported = new WeakMap<object, () => void>()

/** Has a version told, if it is what wakes a reconcile: Kubernetes wrote its status, and tells nobody of it. */
export function noteStatusWrite(version: object, tell: () => void): void {
  unreported.set(version, tell)
}

/** Tells of the version, once; of any other nothing. */
export function reportStatusWrite(version: object): void {
  const tell = unreported.get(version)
  unreported.delete(version)
  tell?.()
}
