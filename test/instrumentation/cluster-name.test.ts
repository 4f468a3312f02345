import { expect, test } from '@jest/globals'
import { clusterName } from '../../packages/instrumentation/src/create-instrumentation.ts'

test.each([
  ['k8s.cluster.name=prod', 'prod'],
  ['service.namespace=shop, k8s.cluster.name = prod%2Feast ,a=b', 'prod/east'],
  ['k8s.cluster.name=a=b,c=d', 'a=b'],
  ['k8s.cluster.name=%', ''],
  ['k8s.cluster.uid=prod', ''],
  ['', ''],
  [undefined, ''],
])('resource attributes %s are of the cluster %j', (attributes, cluster) => {
  expect(clusterName({ OTEL_RESOURCE_ATTRIBUTES: attributes })).toBe(cluster)
})
