import type { ObjectIdentity } from '../../model/kubernetes/object-facts.ts'
import { ownValue } from '../../model/own-value.ts'

/** Which objects OpenTelemetry's semantic conventions have attributes for (`k8s.pod.name`, `k8s.pod.uid`), by their resource. */
const NAMED: Readonly<Record<string, string>> = {
  pods: 'pod',
  replicasets: 'replicaset',
  deployments: 'deployment',
  statefulsets: 'statefulset',
  daemonsets: 'daemonset',
  jobs: 'job',
  cronjobs: 'cronjob',
  namespaces: 'namespace',
  nodes: 'node',
  horizontalpodautoscalers: 'hpa',
  replicationcontrollers: 'replicationcontroller',
  resourcequotas: 'resourcequota',
}

/** The attributes `k8s.*` of an object. */
export function objectAttributes({ resource, namespace, name, uid }: ObjectIdentity): Record<string, string> {
  const kind = ownValue(NAMED, resource)
  return {
    ...(namespace !== '' && { 'k8s.namespace.name': namespace }),
    ...(kind !== undefined && { [`k8s.${kind}.name`]: name }),
    ...(kind !== undefined && uid !== '' && { [`k8s.${kind}.uid`]: uid }),
  }
}
