/** What stands under the heading of a section: how it is measured and what its figures mean, true whatever they are. */
export const SECTION_TEXTS: Readonly<Record<string, string>> = {
  ingest: `A span counts once Causeway has acknowledged it, which it does after the commit with \`synchronous=FULL\`: what is
acknowledged is on the disk. Linking takes turns with ingest and catches up when less comes in; what it had still to do
at the last answer is in the table.

**Bare SQLite** is a process with one thread that stores what Causeway stores of the same requests: the same schema by the
same migrations, the same indexes and settings, a prepared INSERT a span and the same side tables (requests, original
traces, pairs of CPID and trace), about 1 MiB of requests a transaction. Its rows are ready beforehand and only the
transactions are timed, so the ratio is what receiving, decoding, the merge graph and answering leave of SQLite's speed on
this disk. Rounds of both take turns.

Requests of 20 spans show what each request costs, HTTP/JSON what reading JSON costs.`,
  'ingest-at-scale': `The same load into two databases that are alike but for their size, filled beforehand with settled cascades of
1,000 spans; pruning is off. The small one is a fresh copy each round; the large one keeps what came in
the rounds before, once that is linked. A ratio near 1 says that a span costs the same however much is stored.`,
  memory: `Resident memory as Linux counts it (VmRSS, VmHWM), files mapped into the process included. It holds caches of a
fixed size, not the graph: the CPIDs are rows.`,
  'ingest-link-export': `From the first request until a backend on the same machine has every span, each once: stored, linked, turned into
the bytes of its trace, compressed and sent.`,
  profile: `Where the time of \`ingest-link-export\` goes, by thread and cause: V8's CPU profiler samples each thread every millisecond.
A sample counts toward the innermost of the causes on its stack, and what none of them names is "the rest", start and stop
included. The rows of a thread add up to it, and the threads to the whole. A thread that waits for the disk in a COMMIT counts as
busy; one that waits for work does not. The profiler itself slows Causeway: compare rows, and take speed from the sections above.`,
  related: `A root's related CPIDs are a walk over the edges of the merge graph. The rows of one cascade lie far apart, as they
do when many grow at the same time.`,
  questions: `Questions over the HTTP API while spans come in at half the rate that was reached without questions. "Of the rate
asked for" says whether questions hold up ingest.`,
  search: `TraceQL as Grafana asks it, of Tempo's API, while nothing comes in. All spans lie within the hour that is asked for, so
none is passed over for its time. A search is cut off after 30 s, and says so.
"Answers that were not complete" counts those of a round. Run with \`npm run bench -- --only search\`.`,
  dashboard: `The dashboard in Chromium with nothing kept from before: the list of cascades until its first rows are there, and one
cascade until its timeline is drawn.`,
  growth: `Linking and pruning are measured in a process that is Causeway's store thread and nothing else, on a fresh copy of
a filled database each round, in processor time of that thread, checkpoints included: what else runs on the machine hides
nothing. The load is 2,000 fresh changes of six CPIDs and 18 spans; what is pruned are 2,000 CPIDs with ten spans each.
Start, memory, questions and "sent on" are of the real process with an exporter. An object's changes lie an hour apart, each
a new operator's change merged with what the object carries.

What grows: the index of CPIDs, which come in no order, has more pages, so that each new one more often touches one that
no other of the same commit touches; that of original traces does so more slowly, since they go there many at a time. Related
CPIDs and the history of an object grow with what the answer is made of.`,
  anchor: `What Kubernetes' scalability envelope allows: 5,000 nodes and 100 Pod changes a second. Each change is a root, a CPID
of the Pod and one of the Endpoints, and 19 spans of kubectl, the Deployment and ReplicaSet controllers, the scheduler, the
kubelet of one of the nodes and the Endpoints controller, two of them idle work without a CPID; every Deployment is changed
again after 500 s and then merges with what it carries. First an hour of simulated time goes by faster, with the waits of
the linker divided by the same factor and retention as it is by default; then real time on the same database.

The lag of a span counts from when it and all that linking waits for (mergelogs, writers of what was observed) were
acknowledged until the backend has it.`,
  instrumentation: `What the library costs a controller: each operation alone, with ten ancestors on every object.`,
  fairness: `Four well-behaved senders of ten small requests a second each, once all is linked that came before: alone, and then beside others that
send as fast as they can, one kind after another, which stand with the figures. What is compared is the reply time of the
well-behaved ones, 99 % within; none of their requests may be refused.

Then the same with people who ask: 20 questions a second that are answered soon, beside one that asks what takes long, on one
connection and on 40, and beside fifty connections of OTLP/gRPC. Who asks what takes long comes from another address, and once more on 40
connections from the same address as the others. All others come from one address. The same flood at another Causeway beside this one shows what
the machine alone costs. Each ratio is to the phase just before, in which nobody else was there.`,
  soak: `Memory under a steady load, sampled twice a second: what Kubernetes' scalability envelope allows, at half its rate, to one
backend, every span of which has to come exactly once, while somebody asks. "Growth over the last half" is the slope of a
straight line through the samples. Run with \`npm run bench -- --only soak --minutes N\`.`,
  held: `A database of changes that have settled and that an exporter has not sent, with retention that would keep one of them.
First its turns of pruning alone, in one process without load; then the same load twice, with pruning off and with pruning
every second, each time by a Causeway that has just started and looks at all that is held once. A later round of pruning is
one when nothing has changed.`,
  archive: `Everything that is stored goes into ClickHouse's own engine (\`chdb\`), which runs in a process of its own on the same machine, and then questions are
asked of many more CPIDs, each time of another cascade. Sizes are of merged tables. Causeway and the engine share the cores with whatever else runs: the
load average says with how much. For a span the engine takes about as much CPU as Causeway (51 and 53 µs, while the machine was busy),
on the same two cores. Run with \`npm run bench -- --only archive --cpids 10000000\`.`,
  kubernetes: `A program of the bench speaks the list and watch of an API server with 150,000 Pods, and then tells of applications that are
deployed, 14 writes each: Deployment, ReplicaSet, three Pods, their bindings and statuses, EndpointSlice. Causeway watches it with
\`k8s_objects\`. A write counts once its span is inferred, linked and at the backend. "In SQL" is looked at every 20 ms at the rate
of a cluster of 5,000 nodes, with \`window\` as it is by default; a watch alone waits for nobody to say who wrote. For a minute or two after watches
were seconds behind one another, as when many writes come at once, Causeway waits twice as long as they were, at most 5 s, before it decides.`,
  'kubernetes-api-server': `A real etcd, API server, controller manager and scheduler with the audit policy of examples/kubernetes; Deployments without Pods
are patched, each of which their controller answers with a write of its own. "In SQL" counts from the answer of the API server, is looked at
every 20 ms, and includes the \`window\` of 500 ms. Where nobody tells who wrote, an audit log is configured that stays empty, so that every write waits
\`who_wait\`. What admission adds is the time that a patch takes in a namespace whose writes the API server asks Causeway about,
beside one whose it does not, in turns, patch by patch, one at a time. CPU of the API server: 20 s of 25 patches a second each, in turns with and without
a Causeway that watches all resources. Needs Go to build the programs, once; without it this is not run.`,
}
