import { readFileSync, writeFileSync } from 'node:fs'
import { gunzipSync, gzipSync } from 'node:zlib'

interface Managed {
  readonly metadata: { readonly managedFields?: readonly { manager: string }[] }
}

/** Writes a recorded watch anew in which these programs share one name, as those that are built with kubebuilder do. */
export function renameManagers(watch: string, programs: readonly string[], as: string, to: string): void {
  const lines = gunzipSync(readFileSync(watch))
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly object: Managed })
  for (const { object } of lines)
    for (const entry of object.metadata.managedFields ?? [])
      if (programs.includes(entry.manager)) entry.manager = as
  writeFileSync(to, gzipSync(lines.map((line) => `${JSON.stringify(line)}\n`).join('')))
}
