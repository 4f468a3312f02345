/** Why versions are not said to come from what they were meant by: one reason for each that docs/reports/truth.md lists. */
export const REASONS: readonly {
  /** A recording and its view. */
  readonly of: string
  readonly objects: RegExp
  readonly why: string
}[] = [
  {
    of: 'monitors, watch alone',
    objects: /\/alertmanager-am-generated 394$/,
    why: 'what it was made for, an AlertmanagerConfig, is of a resource that was not watched, and no audit log told of it',
  },
  {
    of: 'namespaces, watch alone',
    objects: /\/d4-held(?:\/held)? \d+$/,
    why: 'the patch that takes the last finalizer away leaves no version: a watch shows that the object is gone, and not who let it go',
  },
  {
    of: 'handovers, watch alone',
    objects: /\/b4-bound\/web/,
    why: 'a binding names no field manager: with a watch alone the scheduler binds each Pod, and what the Pod does then follows from that',
  },
  {
    of: 'copies, watch alone',
    objects: /\/k5-bundle \d+$/,
    why: 'a Bundle names its source without a namespace, which is that of the program: only the account in an audit log says which',
  },
  {
    of: 'programs, audit and watch',
    objects: /\/ee-summed\/inventory \d+$/,
    why: 'the program sums up whatever a labelled namespace has: no object names what it lists, and it names none of them',
  },
  {
    of: 'programs, watch alone',
    objects: /^v1\/nodes\/ea-[ab] \d+$/,
    why: 'a program without custom resources deletes the node: with a watch alone a deletion names nobody, and counts as a change of a person',
  },
]
