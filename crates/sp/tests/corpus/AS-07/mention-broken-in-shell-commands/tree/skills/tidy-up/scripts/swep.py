print("swept")
