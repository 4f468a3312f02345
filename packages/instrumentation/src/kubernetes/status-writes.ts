const unreported = new WeakMap<object, () => void>()

/** Registers a version whose status Kubernetes wrote, to be reported if it triggers a reconcile. */
export function noteStatusWrite(version: object, tell: () => void): void {
  unreported.set(version, tell)
}

/** Reports a registered version, once. */
export function reportStatusWrite(version: object): void {
  const tell = unreported.get(version)
  unreported.delete(version)
  tell?.()
}
