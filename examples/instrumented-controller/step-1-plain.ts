// Step 1: the controller as it was. It gives the Deployment the image that the settings ask for.
import { Cluster } from './cluster.ts'
import { operate } from './operator.ts'

const cluster = new Cluster()

async function reconcile(): Promise<void> {
  const { settings, deployment } = cluster
  if (settings === undefined || deployment === undefined) return
  if (settings.data.image === deployment.spec.image) return
  const written = await cluster.write({ ...deployment, spec: { image: settings.data.image } })
  console.log(`updated Deployment to ${written.spec.image}`)
}

await operate(cluster, reconcile, (object) => object)
