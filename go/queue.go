package causeway

import (
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// newQueue makes the queue of a controller.
type newQueue[Request comparable] = func(string, workqueue.TypedRateLimiter[Request]) workqueue.TypedRateLimitingInterface[Request]

// tracedQueue notes the requests that are added to a controller's queue while an event handler runs. Delayed and rate-limited requests
// are not noted: with these a controller requeues itself.
type tracedQueue[Request comparable] struct {
	priorityqueue.PriorityQueue[Request]
	note func(Request)
}

func (q tracedQueue[Request]) Add(request Request) {
	q.note(request)
	q.PriorityQueue.Add(request)
}

func (q tracedQueue[Request]) AddWithOpts(o priorityqueue.AddOpts, requests ...Request) {
	if o.After == 0 && !o.RateLimited {
		for _, request := range requests {
			q.note(request)
		}
	}
	q.PriorityQueue.AddWithOpts(o, requests...)
}

// withoutPriorities adapts a queue without priorities.
type withoutPriorities[Request comparable] struct {
	workqueue.TypedRateLimitingInterface[Request]
}

func (q withoutPriorities[Request]) GetWithPriority() (Request, int, bool) {
	request, isShutDown := q.Get()
	return request, 0, isShutDown
}

func (q withoutPriorities[Request]) AddWithOpts(o priorityqueue.AddOpts, requests ...Request) {
	for _, request := range requests {
		if o.RateLimited {
			q.AddRateLimited(request)
		} else {
			q.AddAfter(request, o.After)
		}
	}
}

func tracedQueues[Request comparable](inner newQueue[Request], note func(Request)) newQueue[Request] {
	return func(name string, limiter workqueue.TypedRateLimiter[Request]) workqueue.TypedRateLimitingInterface[Request] {
		queue := inner(name, limiter)
		if prioritised, ok := queue.(priorityqueue.PriorityQueue[Request]); ok {
			return tracedQueue[Request]{prioritised, note}
		}
		return tracedQueue[Request]{withoutPriorities[Request]{queue}, note}
	}
}
