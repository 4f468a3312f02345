/** A Pod's template with one container. */
export function template(app: string, spec: object = {}, annotations: object = {}): object {
  return {
    metadata: { labels: { app }, annotations },
    spec: { containers: [{ name: 'main', image: 'nginx:1' }], terminationGracePeriodSeconds: 1, ...spec },
  }
}

export function deployment(
  name: string,
  replicas: number,
  more: object = {},
  pods: object = template(name),
): object {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, ...more },
    spec: { replicas, selector: { matchLabels: { app: name } }, template: pods },
  }
}

export function service(name: string, more: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { selector: { app: name }, ports: [{ port: 80 }], ...more },
  }
}
