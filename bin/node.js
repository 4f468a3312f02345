// `node bin/node.js <arguments>` is `node <arguments>` under a Node that is new enough. The scripts of package.json go
// through it, because not every npm puts the Node it installed on their PATH.
import { delimiter, dirname } from 'node:path'
import { newerNode, startUnder } from './newer-node.js'

const node = newerNode()
// Ctrl-C in a terminal reaches the program itself.
const signals = process.stdin.isTTY ? ['SIGTERM', 'SIGHUP'] : ['SIGINT', 'SIGTERM', 'SIGHUP']
const PATH = [dirname(node), process.env.PATH].filter(Boolean).join(delimiter)
startUnder(node, process.argv.slice(2), { stdio: 'inherit', env: { ...process.env, PATH }, signals })
