import { valueText, type KeyValue } from './otlp-record.ts'

/** Attributes, one a line, as they were sent. */
export function AttributeList({ attributes }: { attributes: readonly KeyValue[] }) {
  return (
    <dl class="attributes">
      {attributes.map(({ key, value }) => (
        <div key={key}>
          <dt>{key}</dt>
          <dd>{valueText(value)}</dd>
        </div>
      ))}
    </dl>
  )
}
