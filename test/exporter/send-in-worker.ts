import { parentPort, workerData } from 'node:worker_threads'
import { type GrpcTransportSettings, openGrpcTransport } from '../../src/exporter/otlp-grpc/grpc-transport.ts'
import { going, REQUEST } from './transport-settings.ts'

await using transport = openGrpcTransport(workerData as GrpcTransportSettings)
parentPort?.postMessage(await transport.send(REQUEST, going()))
