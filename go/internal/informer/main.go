// Fills an informer, plain or traced, with all ConfigMaps of a server, and prints the time and memory. The
// evaluation runs it (lab/evaluation/informers).
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"causeway"
)

type findings struct {
	FilledMS  float64 `json:"filledMs"`
	CPUMS     float64 `json:"cpuMs"`
	HeapMiB   float64 `json:"heapMib"`
	ChangedMS float64 `json:"changedMs"`
}

// informer <server> <objects> <changes> plain|traced
func main() {
	if len(os.Args) != 5 {
		log.Fatal("informer <server> <objects> <changes> plain|traced")
	}
	objects, _ := strconv.ParseInt(os.Args[2], 10, 64)
	changes, _ := strconv.ParseInt(os.Args[3], 10, 64)
	found, err := fill(os.Args[1], objects, changes, os.Args[4] == "traced")
	if err != nil {
		log.Fatal(err)
	}
	_ = json.NewEncoder(os.Stdout).Encode(found)
}

func fill(server string, objects, changes int64, isTraced bool) (findings, error) {
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	config := &rest.Config{Host: server, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	held, err := cache.New(config, cache.Options{Scheme: scheme.Scheme, Mapper: mapper})
	if err != nil {
		return findings{}, err
	}
	if isTraced {
		trace, err := causeway.New(scheme.Scheme, mapper, causeway.Settings{Cluster: "measured"})
		if err != nil {
			return findings{}, err
		}
		held = trace.Cache(held)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { _ = held.Start(ctx) }()
	var added, changed atomic.Int64
	filled, done := make(chan struct{}), make(chan struct{})
	began := time.Now()
	informer, err := held.GetInformer(ctx, &corev1.ConfigMap{}, cache.BlockUntilSynced(false))
	if err != nil {
		return findings{}, err
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(any) {
			if added.Add(1) == objects {
				close(filled)
			}
		},
		UpdateFunc: func(any, any) {
			if changed.Add(1) == changes {
				close(done)
			}
		},
	}); err != nil {
		return findings{}, err
	}
	<-filled
	found := findings{FilledMS: msSince(began)}
	// The server sends the changes on request.
	began = time.Now()
	if err := ask(server); err != nil {
		return findings{}, err
	}
	<-done
	found.ChangedMS, found.CPUMS = msSince(began), cpuMS()
	debug.FreeOSMemory()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	found.HeapMiB = float64(memory.HeapAlloc) / (1 << 20)
	runtime.KeepAlive(informer)
	return found, nil
}

func ask(server string) error {
	client, err := rest.HTTPClientFor(&rest.Config{})
	if err != nil {
		return err
	}
	answer, err := client.Post(server+"/change", "text/plain", nil)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

func msSince(began time.Time) float64 { return float64(time.Since(began).Microseconds()) / 1_000 }

func cpuMS() float64 {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e6
}
