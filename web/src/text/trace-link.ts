/** The address of a trace in Jaeger or Grafana; undefined without a template, or if it is not a web address. */
export function traceLink(template: string | null, traceId: string, spanId = ''): string | undefined {
  if (template === null || !/^https?:\/\//i.test(template)) return undefined
  return template.replaceAll('{trace_id}', traceId).replaceAll('{span_id}', spanId)
}
