/** Who asks: one connection of an address. */
export interface Asker {
  readonly address: string
  /** The same number for every question of one connection. */
  readonly connection: number
}
