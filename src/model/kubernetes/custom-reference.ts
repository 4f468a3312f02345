/** Where objects of a resource name another object, as configuration says it. */
export interface CustomReference {
  /** The plural of those that name: `widgets`. */
  readonly resource: string
  /** What relations ask for it by. */
  readonly field: string
  /** Keys from the object down to the name; `*` stands for every entry of a list. */
  readonly path: readonly string[]
  /** Keys down to the namespace; where there are none, the named object is in no namespace or in that of whoever names it. */
  readonly namespacePath?: readonly string[]
  /** The plural of what is named. */
  readonly of: string
}
