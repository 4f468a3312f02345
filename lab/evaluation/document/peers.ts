/** What the documentation of comparable tools states; `–` where it states nothing. */
export interface Peer {
  name: string
  /** Where the operator's changes are told apart. */
  unit: string
  causeFrom: string
  whenChangesMeet: string
  reachesBeyondOwners: string
  needs: string
  output: string
  sources: string
}

export const PEERS: readonly Peer[] = [
  {
    name: 'Causeway',
    unit: 'a change: each operator action has a CPID of its own',
    causeFrom: 'the CPID on the objects that a controller read; without one, what its write shows of them',
    whenChangesMeet: 'a new CPID with a mergelog that names all of them; all stay traceable',
    reachesBeyondOwners: 'yes, whatever is read: Service → Endpoints, HPA → Deployment',
    needs:
      'instrumented controllers and two annotations on each object; or neither, with a watch, an audit log or both; Causeway',
    output: 'one trace an operator action, in Jaeger or Tempo, and SQL',
    sources: 'this repository',
  },
  {
    name: 'Kelemetry',
    unit: 'an object within half an hour: a trace lasts for 30 minutes, from a full or a half hour',
    causeFrom: 'relations between objects: owner references, or rules of a plugin',
    whenChangesMeet: '–',
    reachesBeyondOwners: 'by custom rules (plugin API)',
    needs: 'no instrumented controllers: audit log, events and object watches',
    output: 'traces in Jaeger, through a storage plugin; events with object diffs',
    sources:
      '[README](https://github.com/kubewharf/kelemetry#readme), [user guide](https://github.com/kubewharf/kelemetry/blob/main/docs/USER_GUIDE.md)',
  },
  {
    name: 'Kausality',
    unit: 'a causal chain from its origin (a user) through controller hops',
    causeFrom:
      'the controller owner reference, while the parent reconciles (generation ≠ observedGeneration)',
    whenChangesMeet: 'the trace is replaced when the parent has a new generation',
    reachesBeyondOwners: 'no: others, such as the HPA and GitOps tools, are origins of new chains',
    needs: 'no instrumented controllers: an admission webhook; says it is experimental',
    output: 'the chain as a JSON annotation on the object; drift reports',
    sources:
      '[README](https://github.com/kausality-io/kausality#readme), [tracing design](https://github.com/kausality-io/kausality/blob/main/doc/design/TRACING.md)',
  },
  {
    name: 'KEP-5915 (proposal)',
    unit: 'the request or reconcile that last wrote the spec',
    causeFrom: 'the annotation `tracing.k8s.io/traceparent` of the reconciled object, as a span link',
    whenChangesMeet: 'the last writer’s context stays; keeping several is named as a future enhancement',
    reachesBeyondOwners: 'where a controller injects; status updates do not',
    needs: 'controllers that call the library, one by one; a feature gate',
    output: 'traces that link to each other; how backends show links is a non-goal',
    sources: '[the proposal](https://github.com/kubernetes/enhancements/pull/5916)',
  },
  {
    name: 'Collector + Jaeger alone, with component tracing of Kubernetes',
    unit: 'a request: the API server makes spans for incoming requests and those it sends to webhooks and etcd',
    causeFrom:
      'W3C trace context in requests; the API server’s is not continued from incoming ones as it is often public',
    whenChangesMeet: '–',
    reachesBeyondOwners: '–',
    needs: 'a tracing configuration for each component',
    output: 'a trace a request',
    sources:
      '[Traces for Kubernetes system components](https://kubernetes.io/docs/concepts/cluster-administration/system-traces/)',
  },
]
