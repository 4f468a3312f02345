import { objectName } from '../text/object-name.ts'

/** An object in readable form: its resource, then its name, with the namespace less prominent. */
export function ObjectMark({ reference }: { reference: string }) {
  const { resource, namespace, name } = objectName(reference)
  return (
    <span class="object-mark" title={reference}>
      {resource !== '' && <span class="resource">{resource} </span>}
      {namespace !== undefined && <span class="namespace">{namespace}/</span>}
      <span class="name">{name}</span>
    </span>
  )
}
