/** What a process of the demo tells the demo. */
export type Report =
  | { kind: 'ready' }
  | {
      kind: 'wrote'
      did: string
      /** The path of the object, such as `v1/pods/default/web-1`. */
      object: string
      cpid: string
      /** Where the CPID that the object now carries comes from. */
      origin: 'begins' | 'inherits' | 'merges'
    }
