/**
 * What writes of a resource follow from, in plain settings.
 * Resources are plurals. `on` says of which writes it speaks: `creation`, `authored`, `status`, `deletion`; the first two unless it
 * is there. `by` speaks of one controller's writes alone.
 */
export interface RelationSettings {
  readonly resource: string
  readonly from: 'owner' | NamedSettings
  readonly on?: readonly string[]
  readonly by?: string
}

/** How one object names another: exactly one of label, annotation and field, each of them the place of a name. */
export interface NamedSettings {
  readonly label?: string
  readonly annotation?: string
  /** From the object down: `.spec.shop.name`, `.spec.parts[*].name`. */
  readonly field?: string
  readonly of: string
  /** The place of its namespace, where that is neither the namer's nor none. */
  readonly namespace?: string
}
