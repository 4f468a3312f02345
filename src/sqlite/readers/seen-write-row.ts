import type { SeenWrite, WriteCause } from '../../model/seen-write.ts'

/** The columns user_name, cause and gap of `seen_writes`, all null where there is no row. */
export type SeenColumns = [user: string | null, cause: string | null, gap: bigint | null]

export function seenWriteOf(...[user, cause, gap]: SeenColumns): SeenWrite | undefined {
  if (cause === null) return undefined
  return { user: user ?? undefined, cause: cause as WriteCause, gap: gap === 1n }
}
