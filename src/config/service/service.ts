import { field, optionalField, refuse, type ValueKind } from '../schema/field.ts'
import { TEXT_LIST } from '../schema/scalar-kinds.ts'
import { section } from '../schema/section.ts'
import { describeNode, isMap, valueOf, type RawMap } from '../tree/raw-node.ts'
import { telemetry } from './telemetry.ts'

const PIPELINES: ValueKind<RawMap> = {
  type: 'map of pipelines',
  read: (node) => {
    const map = valueOf(node)
    return isMap(map)
      ? map
      : refuse(
          `must be a map such as { traces/in: { receivers: [otlp], exporters: [cpid] } }, got ${describeNode(map)}`,
        )
  },
}

export const service = section('What is switched on, and how it is joined.', {
  extensions: field(TEXT_LIST, '[]', 'The extensions that are on, by id.'),
  telemetry,
  pipelines: optionalField(
    PIPELINES,
    'The pipelines, by id: `traces` or `logs`, or `metrics` from the connector, with `/name` where there are several of a signal.',
  ),
})

export const pipeline = section('One way of spans or log records through Causeway.', {
  receivers: field(TEXT_LIST, '[]', 'Where it comes from: receivers, or the cpid connector.'),
  processors: field(TEXT_LIST, '[]', 'Causeway has none; leave it out.'),
  exporters: field(TEXT_LIST, '[]', 'Where it goes to: the cpid connector, or exporters.'),
})
