/** `spec.replicas: 2 → 5`, the form in which Causeway reports a changed field. */
const LINE = /^(.*?): (.*)$/s
const BOTH = /^(.*?) → (.*)$/s
const ONE = /^(added|removed)(?:, (?:was )?(.*))?$/s

/** The fields that a write changed: their paths, and their values before and after where these are shown. */
export function ChangedFields({ changed }: { changed: readonly string[] | undefined }) {
  if (changed === undefined || changed.length === 0) return null
  return (
    <ul class="changed-fields" aria-label="Fields that changed">
      {changed.map((line) => (
        <li key={line}>
          <ChangedField line={line} />
        </li>
      ))}
    </ul>
  )
}

function ChangedField({ line }: { line: string }) {
  const [, path, what = ''] = LINE.exec(line) ?? []
  if (path === undefined) return <>{line}</>
  const [, before, after] = BOTH.exec(what) ?? []
  const [, kind, value] = ONE.exec(what) ?? []
  return (
    <>
      <span class="path">{path}</span>{' '}
      {before !== undefined && after !== undefined ? (
        <>
          <del>{before}</del> <span aria-hidden="true">→</span> <ins>{after}</ins>
        </>
      ) : value !== undefined && kind === 'added' ? (
        <>
          added <ins>{value}</ins>
        </>
      ) : value !== undefined ? (
        <>
          removed <del>{value}</del>
        </>
      ) : (
        <span class="muted">{what}</span>
      )}
    </>
  )
}
