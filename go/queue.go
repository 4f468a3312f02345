package causeway

import (
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type (
	requestQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	newQueue     = func(string, workqueue.TypedRateLimiter[reconcile.Request]) requestQueue
)

// tracedQueue hears which keys are put into a controller's queue while an event handler runs. What is put there for later, or again
// after a failure, is not of the event: that is how a controller has itself called again.
type tracedQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	note func(reconcile.Request)
}

func (q tracedQueue) Add(request reconcile.Request) {
	q.note(request)
	q.PriorityQueue.Add(request)
}

func (q tracedQueue) AddWithOpts(o priorityqueue.AddOpts, requests ...reconcile.Request) {
	if o.After == 0 && !o.RateLimited {
		for _, request := range requests {
			q.note(request)
		}
	}
	q.PriorityQueue.AddWithOpts(o, requests...)
}

// withoutPriorities is a queue that has none, as a controller sees it.
type withoutPriorities struct{ requestQueue }

func (q withoutPriorities) GetWithPriority() (reconcile.Request, int, bool) {
	request, isShutDown := q.Get()
	return request, 0, isShutDown
}

func (q withoutPriorities) AddWithOpts(o priorityqueue.AddOpts, requests ...reconcile.Request) {
	for _, request := range requests {
		if o.RateLimited {
			q.AddRateLimited(request)
		} else {
			q.AddAfter(request, o.After)
		}
	}
}

func tracedQueues(inner newQueue, note func(reconcile.Request)) newQueue {
	return func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) requestQueue {
		queue := inner(name, limiter)
		if prioritised, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
			return tracedQueue{prioritised, note}
		}
		return tracedQueue{withoutPriorities{queue}, note}
	}
}
